import { NO_DEFAULTS, type Placement, type ProjectSettings } from '../../../shared/contract/index.ts'
import { defaultsOf, isPlaced, spiderDefaultsOf } from '../../../shared/job-defaults.ts'
import type { FormRow, RowKind } from './form-rows.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'

export type Origin = 'project' | 'spider'

export const ORIGIN_TEXTS: Record<Origin, string> = { project: texts.fromProjectDefault, spider: texts.fromSpider }

export interface InheritedValue {
  name: string
  value: string
  isSecret: boolean
  origin: Origin
}

/** The values that a run inherits from its project and spider. null: set in neither. */
export interface Inherited extends Record<RowKind, InheritedValue[]> {
  priority: { value: number; origin: Origin } | null
  placement: (Placement & { origin: Origin }) | null
}

/** A spider's defaults apply only if no other spider is chosen. */
export function inheritedBy(settings: ProjectSettings | null, spiders: readonly string[]): Inherited {
  const [spider = ''] = spiders.length === 1 ? spiders : []
  const all = (settings && defaultsOf(settings, spider)) ?? NO_DEFAULTS
  const own = (settings && spiderDefaultsOf(settings, spider)) ?? NO_DEFAULTS
  const originOf = (isOwn: boolean): Origin => (isOwn ? 'spider' : 'project')
  const valuesOf = (kind: RowKind) =>
    Object.entries(all[kind]).map(([name, value]) => ({
      name,
      value,
      isSecret: all.secretNames.includes(name),
      origin: originOf(Object.hasOwn(own[kind], name))
    }))
  return {
    args: valuesOf('args'),
    settings: valuesOf('settings'),
    env: valuesOf('env'),
    priority: all.priority === null ? null : { value: all.priority, origin: originOf(own.priority !== null) },
    placement: isPlaced(all) ? { nodeId: all.nodeId, tags: all.tags, origin: originOf(isPlaced(own)) } : null
  }
}

export function notReplaced(inherited: readonly InheritedValue[], rows: readonly FormRow[]): InheritedValue[] {
  const replaced = new Set(rows.map(({ name }) => name.trim()))
  return inherited.filter(({ name }) => !replaced.has(name))
}

/** Returns those of the omitted names that are inherited. `*`, which clients can send, means all inherited names. */
export function stillInherited(names: readonly string[], { args, settings, env }: Inherited): string[] {
  const known = [...new Set([...args, ...settings, ...env].map(({ name }) => name))]
  return names.includes('*') ? known : known.filter((name) => names.includes(name))
}
