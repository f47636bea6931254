import type { LimitRule, NodeId, ProjectName } from '../../../shared/contract/index.ts'
import { matchesGlob } from '../../../shared/glob.ts'
import { type Message, say } from '../../../shared/texts/message.ts'

/** When this many rules are cached, the cache is cleared. */
const REMEMBERED_MAX = 20_000

export interface CountedRule {
  rule: LimitRule
  total: number
  byNode: Map<NodeId, number>
}

/** An attempt that counts against limits, because neither we nor its node consider it ended. */
export interface Counted {
  project: ProjectName
  spider: string
  nodeId: NodeId
}

export class LimitBook {
  #rules: CountedRule[] = []
  readonly #matching = new Map<string, readonly CountedRule[]>()

  get isEmpty(): boolean {
    return this.#rules.length === 0
  }

  rules(): readonly CountedRule[] {
    return this.#rules
  }

  replace(rules: readonly LimitRule[], live: Iterable<Counted>): void {
    this.#rules = rules.map((rule) => ({ rule, total: 0, byNode: new Map() }))
    this.#matching.clear()
    for (const one of live) this.count(one, 1)
  }

  count({ project, spider, nodeId }: Counted, by: 1 | -1): void {
    if (this.#rules.length === 0) return
    for (const counted of this.rulesFor(project, spider)) {
      counted.total += by
      const there = (counted.byNode.get(nodeId) ?? 0) + by
      if (there === 0) counted.byNode.delete(nodeId)
      else counted.byNode.set(nodeId, there)
    }
  }

  rulesFor(project: ProjectName, spider: string): readonly CountedRule[] {
    if (this.#rules.length === 0) return NO_RULES
    const key = JSON.stringify([project, spider])
    let matching = this.#matching.get(key)
    if (matching === undefined) {
      matching = this.#rules.filter(
        ({ rule }) => matchesGlob(rule.project, project) && matchesGlob(rule.spider, spider)
      )
      if (this.#matching.size >= REMEMBERED_MAX) this.#matching.clear()
      this.#matching.set(key, matching)
    }
    return matching
  }
}

const NO_RULES: readonly CountedRule[] = []

/** How many runs count against a limit now. For a limit per node, returns the number on the fullest node. */
export function liveOf({ rule, total, byNode }: CountedRule, hasTag: (nodeId: NodeId, tag: string) => boolean): number {
  if (rule.tag === null && !rule.perNode) return total
  const { tag } = rule
  const counts = [...byNode].filter(([nodeId]) => tag === null || hasTag(nodeId, tag)).map(([, count]) => count)
  return rule.perNode ? Math.max(0, ...counts) : counts.reduce((sum, count) => sum + count, 0)
}

/** Why a run waits if `live` runs count against the limit: `the limit of 2 runs of slow is reached (2 live)`. */
export function limitReached({ project, spider, tag, perNode, max }: LimitRule, live: number): Message {
  if (max === 0) return say('limit.none_may_start', { project, spider, tag })
  // If this plan sends the last jobs, `live` is still below `max`, but they are live when a user reads the text.
  return say('limit.reached', { project, spider, tag, perNode, live: Math.max(live, max), max })
}

/** As in `limit 2 for project shop` or `limit 1 of price* on each node`. */
export function describeLimit({ project, spider, tag, perNode, max }: LimitRule): string {
  const where = perNode
    ? ` on each node${tag === null ? '' : ` tagged ${tag}`}`
    : tag === null
      ? ''
      : ` on nodes tagged ${tag}`
  if (spider === null) return `limit ${max}${project === null ? '' : ` for project ${project}`}${where}`
  return `limit ${max} of ${spider}${project === null ? '' : ` of ${project}`}${where}`
}
