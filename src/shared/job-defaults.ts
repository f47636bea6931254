import type { JobDefaults, ProjectSettings, RunItem } from './contract/index.ts'
import { maskSecrets } from './secret-values.ts'

type Defaults = Pick<ProjectSettings, 'defaults' | 'spiderDefaults'>

/** What an order of this spider starts from: the spider's defaults over those of its project. Null: nothing. */
export function defaultsOf({ defaults: ofProject, spiderDefaults }: Defaults, spider: string): JobDefaults | null {
  const ofSpider = Object.hasOwn(spiderDefaults, spider) ? spiderDefaults[spider]! : null
  if (ofSpider === null) return isEmpty(ofProject) ? null : ofProject
  const placed = ofSpider.nodeId !== null || ofSpider.tags.length > 0 ? ofSpider : ofProject
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

/** The order with everything that it does not name itself taken from the defaults. Pure. */
export function withDefaults(item: RunItem, defaults: JobDefaults | null): RunItem {
  const { withoutDefaults: left = [] } = item
  if (defaults === null || left.includes('*')) return item
  const args = { ...without(defaults.args, left), ...item.args }
  const settings = { ...without(defaults.settings, left), ...item.settings }
  const env = { ...without(defaults.env, left), ...item.env }
  const isGiven = (name: string) => [args, settings, env].some((values) => Object.hasOwn(values, name))
  const secretNames = [...new Set([...(item.secretNames ?? []), ...defaults.secretNames.filter(isGiven)])]
  const placement = item.nodeId === undefined && item.tags === undefined ? defaults : item
  return {
    ...item,
    ...{ args, settings, env },
    ...(secretNames.length > 0 && { secretNames }),
    priority: item.priority ?? defaults.priority ?? undefined,
    nodeId: placement.nodeId,
    tags: placement.tags
  }
}

/** The settings with the secret values of their defaults masked, for responses. */
export function maskDefaults(settings: ProjectSettings): ProjectSettings {
  const { defaults, spiderDefaults } = settings
  const masked = Object.entries(spiderDefaults).map(([spider, one]) => [spider, maskSecrets(one)] as const)
  return { ...settings, defaults: maskSecrets(defaults), spiderDefaults: Object.fromEntries(masked) }
}

function without(values: Record<string, string>, names: readonly string[]): Record<string, string> {
  if (names.length === 0) return values
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)))
}

function isEmpty({ args, settings, env, priority, nodeId, tags }: JobDefaults): boolean {
  const isBare = [args, settings, env, tags].every((values) => Object.keys(values).length === 0)
  return isBare && priority === null && nodeId === null
}
