import type { JobId, NodeId, ProjectName } from '../../../../shared/contract/index.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { LiveAttempt, LiveAttempts } from '../live-attempts.ts'

interface RiskParts {
  live: Pick<LiveAttempts, 'ofNode' | 'events'>
  clock: Pick<Clock, 'monotonicMs'>
  /** A monotonic time after which the run certainly wrote to its log. Null: unknown. */
  writtenSinceMs: (jobId: JobId) => number | null
}

/**
 * When Scrapyd starts a run, it keeps the newest logs of that spider by the time of their last write and deletes the
 * others, even those of running jobs (environ.py, jobs_to_keep).
 */
export class LogsAtRisk {
  readonly #parts: RiskParts
  /** Monotonic end times of runs per spider and node, while another run is live there. */
  readonly #ends = new Map<string, number[]>()

  constructor(parts: RiskParts) {
    this.#parts = parts
    parts.live.events.on('ended', ({ one }) => this.#recordEnd(one))
  }

  /**
   * How many of this spider's logs on the node may be newer than the log of its live run that has been quiet longest.
   * Null: no run is live. If this reaches the number of logs that the node keeps, the next start may delete that run's
   * log.
   */
  newerLogs(nodeId: NodeId, project: ProjectName, spider: string): number | null {
    const live = this.#parts.live.ofNode(nodeId).filter((one) => one.project === project && one.spider === spider)
    if (live.length === 0) return null
    const ends = this.#ends.get(keyOf({ nodeId, project, spider })) ?? []
    const newerThan = ({ jobId, sendEndedAtMs }: LiveAttempt) => {
      // A run from an earlier engine may have been quiet for longer than anything recorded here.
      const sinceMs = this.#parts.writtenSinceMs(jobId) ?? sendEndedAtMs ?? Number.NEGATIVE_INFINITY
      return live.length - 1 + ends.filter((atMs) => atMs > sinceMs).length
    }
    return Math.max(...live.map(newerThan))
  }

  #recordEnd(one: LiveAttempt): void {
    const key = keyOf(one)
    const others = this.#parts.live.ofNode(one.nodeId).some((other) => other !== one && keyOf(other) === key)
    if (!others) this.#ends.delete(key)
    else this.#ends.set(key, [...(this.#ends.get(key) ?? []), this.#parts.clock.monotonicMs()].slice(-MOST_ENDS))
  }
}

/** The maximum number of end times kept per spider and node. Higher than any node's number of kept logs. */
const MOST_ENDS = 1_000

const keyOf = ({ nodeId, project, spider }: Pick<LiveAttempt, 'nodeId' | 'project' | 'spider'>): string =>
  `${nodeId} ${project} ${spider}`
