import { EventEmitter } from 'node:events'
import pLimit from 'p-limit'
import type { LaneSummary, LimitRule, NodeId } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import type { LiveAttempts } from '../../jobs/dispatch/live-attempts.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import { describeLimit, liveOf } from '../../jobs/queue/limits.ts'
import type { WaitingReasons } from '../../jobs/queue/waiting-reasons.ts'
import { parseLane } from '../../model/lane.ts'
import type { OnlyProjects } from '../../model/records.ts'
import type { LaneReader, LimitStore } from '../../storage/store.ts'

export interface QueueCommandsParts {
  store: LaneReader & LimitStore
  live: LiveAttempts
  fleet: Pick<Fleet, 'get'>
  waiting: WaitingReasons
  wakeDispatcher: () => void
}

export type CountedLimit = LimitRule & { live: number }

export class QueueCommands {
  readonly events = new EventEmitter<{ limitsChanged: [] }>()
  readonly #parts: QueueCommandsParts
  #limitsRevision = 0
  readonly #exclusively = pLimit(1)

  constructor(parts: QueueCommandsParts) {
    this.#parts = parts
  }

  /** Called on startup, so that the stored limits apply from the dispatcher's first pass. */
  async readLimits(): Promise<void> {
    const { revision, rules } = await this.#parts.store.getLimits()
    this.#limitsRevision = revision
    if (revision > 0) this.#parts.live.replaceLimits(rules)
  }

  limits(): CountedLimit[] {
    const { live, fleet } = this.#parts
    const hasTag = (nodeId: NodeId, tag: string) => fleet.get(nodeId)?.stored.tags.includes(tag) === true
    return live.limits.rules().map((counted) => ({ ...counted.rule, live: liveOf(counted, hasTag) }))
  }

  /** Running jobs continue. If two rules share an id, changes nothing and rejects with BAD_INPUT. */
  setLimits(rules: LimitRule[]): Promise<CountedLimit[]> {
    return this.#exclusively(async () => {
      const { store, live, wakeDispatcher } = this.#parts
      const seen = new Map<string, LimitRule>()
      for (const rule of rules) {
        const earlier = seen.get(rule.id)
        if (earlier !== undefined) {
          throw new ScrapdeckError(
            'BAD_INPUT',
            sentence('api.limits_with_same_id', {
              earlier: describeLimit(earlier),
              rule: describeLimit(rule),
              id: rule.id
            })
          )
        }
        seen.set(rule.id, rule)
      }
      await store.putLimits({ revision: this.#limitsRevision + 1, rules })
      this.#limitsRevision += 1
      live.replaceLimits(rules)
      this.events.emit('limitsChanged')
      wakeDispatcher()
      return this.limits()
    })
  }

  async lanes(limit: number, { onlyProjects }: OnlyProjects = {}): Promise<{ lanes: LaneSummary[]; total: number }> {
    const lanesOfAll = await this.#parts.store.listLanes()
    const all =
      onlyProjects === undefined
        ? lanesOfAll
        : lanesOfAll.filter(({ lane }) => onlyProjects.includes(parseLane(lane).project))
    const deepest = all
      .sort((one, other) => other.depth - one.depth || (one.lane < other.lane ? -1 : 1))
      .slice(0, limit)
    const lanes = deepest.map(({ lane, depth }) => {
      const { project, spider } = parseLane(lane)
      return { lane, project, spider, depth, waiting: this.#parts.waiting.of(lane) }
    })
    return { lanes, total: all.length }
  }
}
