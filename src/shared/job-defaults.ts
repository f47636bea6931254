import type { Job, JobDefaults, ProjectSettings, RunItem, Transition, ProjectSettingsChange } from './contract/index.ts'
import { maskSecrets } from './secret-values.ts'

/** The maximum size of the settings, arguments and variables of all jobs queued together, as JSON. */
export const MAX_ORDER_BYTES = 16_000_000

const VALUES = ['args', 'settings', 'env'] as const
type Values = Record<string, string>
type OwnParts = Pick<
  RunItem,
  (typeof VALUES)[number] | 'secretNames' | 'priority' | 'nodeId' | 'tags' | 'withoutDefaults'
>
type JobParts = Pick<Job, (typeof VALUES)[number] | 'secretNames' | 'priority' | 'placement'>
type Defaults = Pick<ProjectSettings, 'defaults' | 'spiderDefaults'>
type WithSecrets = Pick<JobDefaults, 'args' | 'settings' | 'env' | 'secretNames'>

export function defaultsOf(settings: Defaults, spider: string): JobDefaults | null {
  return mergeDefaults(settings.defaults, spiderDefaultsOf(settings, spider))
}

/** The spider's own defaults, or null. Checks own properties only, so that `constructor` is not a spider. */
export function spiderDefaultsOf({ spiderDefaults }: Defaults, spider: string): JobDefaults | null {
  return Object.hasOwn(spiderDefaults, spider) ? spiderDefaults[spider]! : null
}

/**
 * Merges the defaults of a spider over those of its project. Decrypt both first, because the result does not show
 * which values are encrypted. A name that is secret in either is secret in the result, whichever value it has.
 */
export function mergeDefaults(ofProject: JobDefaults, ofSpider: JobDefaults | null): JobDefaults | null {
  if (ofSpider === null) return isEmpty(ofProject) ? null : ofProject
  const placed = isPlaced(ofSpider) ? ofSpider : ofProject
  return {
    args: { ...ofProject.args, ...ofSpider.args },
    settings: { ...ofProject.settings, ...ofSpider.settings },
    env: { ...ofProject.env, ...ofSpider.env },
    secretNames: [...new Set([...ofProject.secretNames, ...ofSpider.secretNames])],
    priority: ofSpider.priority ?? ofProject.priority,
    nodeId: placed.nodeId,
    tags: placed.tags
  }
}

/**
 * Fills in what the item does not set. Ignores omitted names that the defaults do not have. A name that is secret in
 * the defaults stays secret if the item sets another value.
 */
export function withDefaults(item: RunItem, defaults: JobDefaults | null): RunItem {
  const { withoutDefaults: asked = [] } = item
  const left = leftOut(asked, defaults)
  if (defaults === null || left.has('*')) {
    return left.size === asked.length ? item : { ...item, withoutDefaults: [...left] }
  }
  const args = { ...without(defaults.args, left), ...item.args }
  const settings = { ...without(defaults.settings, left), ...item.settings }
  const env = { ...without(defaults.env, left), ...item.env }
  const isGiven = (name: string) => [args, settings, env].some((values) => Object.hasOwn(values, name))
  const secretNames = [...new Set([...(item.secretNames ?? []), ...defaults.secretNames.filter(isGiven)])]
  const placement = item.nodeId === undefined && item.tags === undefined ? defaults : item
  return {
    ...item,
    args,
    settings,
    env,
    ...(asked.length > 0 && { withoutDefaults: [...left] }),
    ...(secretNames.length > 0 && { secretNames }),
    priority: item.priority ?? defaults.priority ?? undefined,
    nodeId: placement.nodeId,
    tags: placement.tags
  }
}

/** What a job takes from the defaults, as paths (`args.page`, `priority`, `placement`), and what it omits. */
export interface TakenDefaults {
  fromDefaults?: string[]
  withoutDefaults?: string[]
}

/**
 * Returns which values in `completed` come from the defaults. They are recorded with the job, because defaults can
 * change.
 */
export function takenDefaults(order: RunItem, completed: RunItem): TakenDefaults {
  const { withoutDefaults: left = [] } = completed
  const fromDefaults = order === completed ? [] : takenPaths(order, completed)
  return { ...(fromDefaults.length > 0 && { fromDefaults }), ...(left.length > 0 && { withoutDefaults: [...left] }) }
}

/** Returns what was recorded with the job, without values that an operator set later. */
export function readTaken(timeline: readonly Transition[]): TakenDefaults {
  const { fromDefaults, withoutDefaults } = orderEntry(timeline)?.evidence ?? {}
  const taken = new Set(Array.isArray(fromDefaults) ? fromDefaults.map(String) : [])
  for (const { kind, evidence } of timeline) {
    if (kind === 'changed' && 'priority' in evidence) taken.delete('priority')
    if (kind === 'changed' && 'tags' in evidence) taken.delete('placement')
  }
  return {
    ...(taken.size > 0 && { fromDefaults: [...taken] }),
    ...(Array.isArray(withoutDefaults) && { withoutDefaults: withoutDefaults.map(String) })
  }
}

/** The newest entry that describes the order. A crawl order can be changed before it runs. */
export const orderEntry = (timeline: readonly Transition[]): Transition | undefined =>
  timeline.findLast(({ kind, evidence }) => kind === 'queued' || 'jsonParams' in evidence)

/**
 * What the request for the job, or an operator later, set explicitly. If the job is run again, the defaults apply to
 * everything else.
 */
export function ownParts({ job, timeline }: { job: JobParts; timeline: readonly Transition[] }): OwnParts {
  const { fromDefaults, withoutDefaults } = readTaken(timeline)
  const taken = new Set(fromDefaults)
  const [args, settings, env] = VALUES.map((kind) =>
    Object.fromEntries(Object.entries(job[kind]).filter(([name]) => !taken.has(`${kind}.${name}`)))
  ) as [Values, Values, Values]
  const isOwn = (name: string) => [args, settings, env].some((values) => Object.hasOwn(values, name))
  const { nodeId, tags } = job.placement
  return {
    args,
    settings,
    env,
    withoutDefaults,
    secretNames: job.secretNames.filter(isOwn),
    priority: taken.has('priority') ? undefined : job.priority,
    ...(taken.has('placement') ? { nodeId: undefined, tags: undefined } : { nodeId, tags })
  }
}

export function mapDefaults<From, To>(
  { defaults, spiderDefaults }: { defaults: From; spiderDefaults: Record<string, From> },
  change: (one: From, spider: string | null) => To
): { defaults: To; spiderDefaults: Record<string, To> } {
  const ofSpiders = Object.entries(spiderDefaults).map(([spider, one]) => [spider, change(one, spider)] as const)
  return { defaults: change(defaults, null), spiderDefaults: Object.fromEntries(ofSpiders) }
}

export function maskDefaults<T extends { defaults: WithSecrets; spiderDefaults: Record<string, WithSecrets> }>(
  settings: T
): T {
  return { ...settings, ...mapDefaults(settings, (one) => maskSecrets(one)) }
}

function takenPaths(order: RunItem, completed: RunItem): string[] {
  const paths = VALUES.flatMap((kind) =>
    Object.keys(completed[kind] ?? {})
      .filter((name) => !Object.hasOwn(order[kind] ?? {}, name))
      .map((name) => `${kind}.${name}`)
  )
  if (order.priority === undefined && completed.priority !== undefined) paths.push('priority')
  const { nodeId = null, tags = [] } = completed
  if (order.nodeId === undefined && order.tags === undefined && isPlaced({ nodeId, tags })) paths.push('placement')
  return paths
}

function leftOut(names: readonly string[], defaults: JobDefaults | null): Set<string> {
  if (names.includes('*')) return new Set(['*'])
  const isDefault = (name: string) => defaults !== null && VALUES.some((kind) => Object.hasOwn(defaults[kind], name))
  return new Set(names.filter(isDefault))
}

function without(values: Record<string, string>, names: ReadonlySet<string>): Record<string, string> {
  if (names.size === 0) return values
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.has(name)))
}

export function isPlaced({ nodeId, tags }: Pick<JobDefaults, 'nodeId' | 'tags'>): boolean {
  return nodeId !== null || tags.length > 0
}

function isEmpty(defaults: JobDefaults): boolean {
  const { args, settings, env, priority } = defaults
  const isBare = [args, settings, env].every((values) => Object.keys(values).length === 0)
  return isBare && priority === null && !isPlaced(defaults)
}

export function withSettingsChange(settings: ProjectSettings, change: ProjectSettingsChange): ProjectSettings {
  const { spiderDefaults = {}, spiderOutcomes = {}, ...others } = change
  const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined))
  return {
    ...settings,
    ...given,
    spiderDefaults: withEach(settings.spiderDefaults, spiderDefaults),
    spiderOutcomes: withEach(settings.spiderOutcomes, spiderOutcomes)
  }
}

function withEach<One>(all: Record<string, One>, changes: Record<string, One | null>): Record<string, One> {
  const bySpider = Object.entries({ ...all, ...changes })
  return Object.fromEntries(bySpider.filter((entry): entry is [string, One] => entry[1] !== null))
}
