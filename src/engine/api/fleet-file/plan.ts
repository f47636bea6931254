import { isDeepStrictEqual } from 'node:util'
import {
  type AlertRuleId,
  type ChainId,
  type FleetFileChange,
  type NodeId,
  type ProjectName,
  type ScheduleId,
  type SourceId,
  type WebhookId
} from '../../../shared/contract/index.ts'
import { describeLimit } from '../../jobs/queue/limits.ts'
import { type FileLimit, type FileNode, type FleetForm, type ItemOf, type Part, PART_NAMES } from './form.ts'
import { fillItem, maskItem } from './item-secrets.ts'
import { compactItem, textOfValue } from './yaml.ts'

interface IdOf {
  nodes: NodeId
  discovery: SourceId
  projects: ProjectName
  limits: string
  schedules: ScheduleId
  chains: ChainId
  webhooks: WebhookId
  alerts: AlertRuleId
  retention: 'policy'
}

/** An existing item as a file would contain it, with decrypted secrets. */
export interface CurrentItem<P extends Part> {
  id: IdOf[P]
  item: ItemOf<P>
  isOurs: boolean
  /** Only for schedules: whether an operator, not a failure, paused it. */
  isPausedByOperator?: boolean
}
export type CurrentFleet = { [P in Part]: CurrentItem<P>[] }

/** `item` is the wanted state, `before` the current one. */
export interface Step<P extends Part = Part> {
  part: P
  change: FleetFileChange
  id: IdOf[P] | null
  item: ItemOf<P> | null
  before: ItemOf<P> | null
}

export const NOUNS: Record<Part, FleetFileChange['noun']> = {
  nodes: 'node',
  discovery: 'discovery',
  projects: 'project',
  limits: 'limits',
  schedules: 'schedule',
  chains: 'chain',
  webhooks: 'webhook',
  alerts: 'alert',
  retention: 'retention'
}

/**
 * Plans additions and changes in the order of PARTS, then removals in reverse order. Only `prune` removes anything, and
 * only from parts that the file contains.
 */
export function planFleetFile(current: CurrentFleet, wanted: FleetForm, prune: boolean): Step[] {
  const made = PART_NAMES.flatMap((part) => planPart(part, current, wanted, prune))
  const removed = made.filter(({ change }) => change.act === 'remove')
  return [...made.filter(({ change }) => change.act !== 'remove'), ...removed.reverse()]
}

function planPart<P extends Part>(part: P, current: CurrentFleet, wanted: FleetForm, prune: boolean): Step<P>[] {
  const items = wanted[part] as ItemOf<P>[] | undefined
  if (items === undefined) return []
  const there = current[part] as CurrentItem<P>[]
  const rest = new Set(there)
  const byName = Map.groupBy(there, (one) => nameOf(part, one.item))
  // Items with the same name are matched by content, then by position.
  const byContent = Map.groupBy([...byName.values()].filter((named) => named.length > 1).flat(), (one) =>
    contentOf(part, one.item)
  )
  const same = items.map((item) =>
    byContent.size === 0 ? undefined : removeFirst(rest, byContent.get(contentOf(part, item)))
  )
  const partners = items.map((item, index) => same[index] ?? removeFirst(rest, byName.get(nameOf(part, item))))
  if (part === 'nodes') {
    // A renamed node is recognized by its address.
    const byUrl = Map.groupBy(there, (one) => (one.item as FileNode).url)
    for (const [index, item] of items.entries())
      partners[index] ??= removeFirst(rest, byUrl.get((item as FileNode).url))
  }
  const steps = items.flatMap((item, index) => planItem(part, item, partners[index]))
  if (!prune) return steps
  // An engine's local node can be changed but not removed. A policy can be replaced, but never unset.
  const isFree = ({ isOurs, item }: CurrentItem<P>) =>
    isOurs && part !== 'retention' && !('kind' in item && ['local', 'engine'].includes(item.kind))
  return [...steps, ...[...rest].filter(isFree).map((one) => removal(part, one))]
}

function contentOf<P extends Part>(part: P, item: ItemOf<P>): string {
  if (part === 'nodes') return JSON.stringify([(item as FileNode).name, (item as FileNode).url])
  return JSON.stringify(Object.entries(compactItem(part, item)).sort(([one], [other]) => (one < other ? -1 : 1)))
}

function removeFirst<T>(rest: Set<T>, candidates: T[] | undefined): T | undefined {
  while (candidates !== undefined && candidates.length > 0) {
    const one = candidates.shift()!
    if (rest.delete(one)) return one
  }
  return undefined
}

function planItem<P extends Part>(part: P, wanted: ItemOf<P>, partner: CurrentItem<P> | undefined): Step<P>[] {
  const item = fillItem(part, wanted, partner?.item)
  const name = nameForPeople(part, item)
  const noun = NOUNS[part]
  if (partner === undefined) {
    const fields = fieldsOf(part, item).map(({ name: field, text }) => ({ name: field, from: null, to: text }))
    return [{ part, id: null, item, before: null, change: { noun, name, act: 'add', fields } }]
  }
  const before = partner.item
  const fields = differences(part, before, item)
  if (fields.length === 0) return []
  return [{ part, id: partner.id, item, before, change: { noun, name, act: 'change', fields } }]
}

function removal<P extends Part>(part: P, { id, item }: CurrentItem<P>): Step<P> {
  const change: FleetFileChange = { noun: NOUNS[part], name: nameForPeople(part, item), act: 'remove', fields: [] }
  return { part, id, item: null, before: item, change }
}

/** A limit is identified by what it limits. */
function nameOf<P extends Part>(part: P, item: ItemOf<P>): string {
  if (part === 'limits') {
    const { project, spider, tag, perNode } = item as FileLimit
    return JSON.stringify([project, spider, tag, perNode])
  }
  if (part === 'nodes' && (item as FileNode).kind === 'local') return 'the local node'
  if (part === 'retention') return 'policy'
  return 'id' in item ? item.id : (item as { name: string }).name
}

function nameForPeople<P extends Part>(part: P, item: ItemOf<P>): string {
  if (part === 'limits') return describeLimit({ ...(item as FileLimit), id: '' })
  if (part === 'retention') return 'policy'
  return 'id' in item ? item.id : (item as { name: string }).name
}

function differences<P extends Part>(part: P, before: ItemOf<P>, item: ItemOf<P>): FleetFileChange['fields'] {
  const names = (Object.keys(item) as (keyof ItemOf<P> & string)[]).filter(
    (name) => item[name] !== undefined && !isDeepStrictEqual(before[name] ?? null, item[name])
  )
  if (names.length === 0) return []
  const [old, wanted] = [maskItem(part, before), maskItem(part, item)]
  return names.map((name) => {
    const [from, to] = [shown(name, old[name]), shown(name, wanted[name])]
    return { name, from, to: from === to ? `${to} # another secret value` : to }
  })
}

function fieldsOf<P extends Part>(part: P, item: ItemOf<P>): { name: string; text: string | null }[] {
  const masked = maskItem(part, item)
  return Object.keys(compactItem(part, item))
    .filter((name) => name !== 'name')
    .map((name) => ({ name, text: shown(name, masked[name as keyof ItemOf<P>]) }))
}

function shown(name: string, value: unknown): string | null {
  return value === undefined ? null : textOfValue(name, value)
}
