import type { JobDefaults, ProjectSettings } from '../../../shared/contract/index.ts'
import { defaultsOf } from '../../../shared/job-defaults.ts'
import type { FormRow } from './form-rows.ts'

/** How every inherited value is marked. */
export type Origin = 'project default' | 'spider default'

export interface InheritedValue {
  name: string
  value: string
  isSecret: boolean
  origin: Origin
}
export type InheritedKind = 'args' | 'settings' | 'env'

/** The defaults that an order of these spiders starts from; those of a spider only if it is the only one chosen. */
export function inheritedBy(settings: ProjectSettings | null, spiders: readonly string[]): JobDefaults | null {
  if (settings === null) return null
  const [spider = ''] = spiders.length === 1 ? spiders : []
  return defaultsOf(settings, spider)
}

/** The inherited values that no row replaces, with where they come from. */
export function inheritedRows(
  kind: InheritedKind,
  rows: readonly FormRow[],
  settings: ProjectSettings | null,
  spiders: readonly string[]
): InheritedValue[] {
  const inherited = inheritedBy(settings, spiders)
  if (settings === null || inherited === null) return []
  const ofSpider = spiders.length === 1 ? settings.spiderDefaults[spiders[0]!]?.[kind] : undefined
  const replaced = new Set(rows.map(({ name }) => name.trim()))
  return Object.entries(inherited[kind])
    .filter(([name]) => !replaced.has(name))
    .map(([name, value]) => ({
      name,
      value,
      isSecret: inherited.secretNames.includes(name),
      origin: ofSpider !== undefined && Object.hasOwn(ofSpider, name) ? 'spider default' : 'project default'
    }))
}

/** Where priority and placement come from if the order leaves them out; null: nothing is set there. */
export function originsOf(
  settings: ProjectSettings | null,
  spiders: readonly string[]
): { priority: Origin | null; placement: Origin | null } {
  const ofSpider = spiders.length === 1 ? settings?.spiderDefaults[spiders[0]!] : undefined
  const originOf = (isSet: (defaults: JobDefaults) => boolean): Origin | null => {
    if (ofSpider !== undefined && isSet(ofSpider)) return 'spider default'
    return settings !== null && isSet(settings.defaults) ? 'project default' : null
  }
  return {
    priority: originOf(({ priority }) => priority !== null),
    placement: originOf(({ nodeId, tags }) => nodeId !== null || tags.length > 0)
  }
}

/** `Default: #eu`; null: no placement is inherited. `nodeName` is asked for a node. */
export function placementWords(
  defaults: Pick<JobDefaults, 'nodeId' | 'tags'> | null,
  nodeName: (id: string) => string
): string | null {
  if (defaults === null) return null
  if (defaults.nodeId !== null) return nodeName(defaults.nodeId)
  return defaults.tags.length === 0 ? null : defaults.tags.map((tag) => `#${tag}`).join(' ')
}
