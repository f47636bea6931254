import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import { plain } from '../../shared/texts/message.ts'
import {
  NodeError,
  type EggTarget,
  type NodeClient,
  type NodeSignal,
  type ScheduleRequest,
  type SeenJob,
  type Snapshot
} from '../nodes/node-client.ts'
import { type NodeTraits, SCRAPYD_TRAITS } from '../nodes/node-traits.ts'
import { classifyRefusal } from '../nodes/scrapyd/refusals.ts'
import type { Clock } from '../runtime/clock.ts'

type FakeRequest = Omit<ScheduleRequest, 'isVersionAsked' | 'secretNames' | 'limits'> & Partial<ScheduleRequest>

/** How the fake handles the next `schedule`. `drop_reply` runs it without a response. The last three do not run it. */
export type ScheduleBehaviour = 'ok' | 'drop_reply' | 'lose_request' | 'refuse' | 'unreachable'

interface FakeRun extends FakeRequest {
  startedAtMs: number | null
  endedAtMs: number | null
  signals: string[]
}

/** An in-memory Scrapyd for tests of the dispatcher. It misbehaves on request. Jobs run until the test ends them. */
export class FakeNode implements NodeClient, EggTarget {
  readonly traits: NodeTraits
  readonly #clock: Clock
  readonly slots: number
  readonly #withoutProcess = new Set<string>()
  pending: FakeRun[] = []
  running: FakeRun[] = []
  finished: FakeRun[] = []
  readonly executed: string[] = []
  readonly eggs = new Set<string>()
  readonly logs = new Map<string, string>()
  readonly items = new Map<string, Uint8Array>()
  behaviours: ScheduleBehaviour[] = []
  isDown = false
  /** Accepts jobs but starts none, like a hanging poller. */
  isWedged = false
  refusal = 'something is wrong with this node'
  mostRunningAtOnce = 0
  spiders: string[] | null = ['prices']

  constructor(clock: Clock, options: { slots: number; eggs?: string[]; traits?: NodeTraits }) {
    this.traits = options.traits ?? SCRAPYD_TRAITS
    this.#clock = clock
    this.slots = options.slots
    for (const egg of options.eggs ?? []) this.eggs.add(egg)
  }

  get eggTarget(): EggTarget {
    return this
  }

  /**
   * Ends a run as its spider would, with closing statistics in the log. `finishReason` null: the log has no closing
   * statistics.
   */
  end(jobid: string, finishReason: string | null = 'finished'): void {
    const run = this.running.find((candidate) => candidate.jobid === jobid)
    if (run === undefined) throw new Error(`${jobid} is not running`)
    this.running = this.running.filter((candidate) => candidate !== run)
    run.endedAtMs = this.#clock.nowMs()
    this.finished.unshift(run)
    if (finishReason === null) this.logs.set(jobid, '')
    else this.#closeLog(jobid, finishReason)
    this.#startPending()
  }

  /** Ends the spider, but a child process of the spider keeps the run listed until `end` is called. */
  endProcess(jobid: string, finishReason = 'finished'): void {
    this.#closeLog(jobid, finishReason)
    this.#withoutProcess.add(jobid)
  }

  endAll(): void {
    for (const run of [...this.running]) this.end(run.jobid)
  }

  unwedge(): void {
    this.isWedged = false
    this.#startPending()
  }

  /** Forgets running and finished jobs, like a restarted Scrapyd. The queue is on disk and survives. */
  restart(options: { loseQueue?: boolean; loseLogs?: boolean } = {}): void {
    this.running = []
    this.finished = []
    if (options.loseQueue === true) this.pending = []
    if (options.loseLogs === true) this.logs.clear()
    this.#startPending()
  }

  async daemonStatus() {
    this.#answer()
    return {
      pending: this.pending.length,
      running: this.running.length,
      finished: this.finished.length,
      nodeName: 'fake',
      clockOffsetMs: 0
    }
  }

  async listJobs(): Promise<Snapshot> {
    this.#answer()
    return {
      begunAtMs: this.#clock.monotonicMs(),
      pending: this.pending.map(seen),
      running: this.running.map(seen),
      finished: this.finished.map(seen)
    }
  }

  async schedule(request: FakeRequest): Promise<{ jobid: string }> {
    const behaviour = this.isDown ? 'unreachable' : (this.behaviours.shift() ?? 'ok')
    if (behaviour === 'unreachable') throw new NodeError('unreachable', plain('fake is down'), { delivered: 'no' })
    if (behaviour === 'refuse')
      throw new NodeError('refused', plain(`fake refused: ${this.refusal}`), {
        delivered: 'no',
        nodeMessage: this.refusal,
        refusal: classifyRefusal(this.refusal)
      })
    if (behaviour !== 'lose_request') {
      this.executed.push(request.jobid)
      this.pending.push({ ...request, startedAtMs: null, endedAtMs: null, signals: [] })
      this.#startPending()
    }
    if (behaviour !== 'ok') throw new NodeError('timeout', plain('fake did not answer'), { delivered: 'unknown' })
    return { jobid: request.jobid }
  }

  async cancel({ jobid, signal }: { project: string; jobid: string; signal: NodeSignal }) {
    this.#answer()
    const wasPending = this.pending.some((run) => run.jobid === jobid)
    this.pending = this.pending.filter((run) => run.jobid !== jobid)
    const run = this.running.find((candidate) => candidate.jobid === jobid)
    if (run !== undefined && this.#withoutProcess.has(jobid)) {
      const nodeMessage = 'ProcessExitedAlready: '
      const refusal = classifyRefusal(nodeMessage)
      throw new NodeError('refused', plain('fake refused'), { delivered: 'no', nodeMessage, refusal })
    }
    run?.signals.push(String(signal))
    return { wasState: run !== undefined ? ('running' as const) : wasPending ? ('pending' as const) : null }
  }

  async listProjects(): Promise<ProjectName[]> {
    this.#answer()
    return [...new Set([...this.eggs].map((egg) => egg.split('@')[0] as ProjectName))]
  }

  async listVersions(project: string): Promise<VersionName[]> {
    this.#answer()
    return [...this.eggs]
      .filter((egg) => egg.startsWith(`${project}@`))
      .map((egg) => egg.slice(project.length + 1) as VersionName)
  }

  async listSpiders() {
    this.#answer()
    if (this.spiders === null) throw new NodeError('http', plain('fake lists no spiders'), { delivered: 'no' })
    return this.spiders
  }

  async addVersion(project: string, version: string) {
    this.#answer()
    this.eggs.add(`${project}@${version}`)
    return { spiders: 1 }
  }

  async deleteVersion(project: string, version: string) {
    this.#answer()
    this.eggs.delete(`${project}@${version}`)
  }

  async readLog({ jobid }: { jobid: string }, range: { offset: number; limitBytes: number }) {
    this.#answer()
    const text = this.logs.get(jobid)
    if (text === undefined) return null
    const bytes = new TextEncoder().encode(text)
    const offset = range.offset < 0 ? Math.max(0, bytes.length + range.offset) : range.offset
    return { offset, sizeBytes: bytes.length, bytes: bytes.slice(offset, offset + range.limitBytes) }
  }

  async readItems({ jobid }: { jobid: string }, { offset, limitBytes }: { offset: number; limitBytes: number }) {
    this.#answer()
    const bytes = this.items.get(jobid)
    if (bytes === undefined) return null
    return { offset, sizeBytes: bytes.length, bytes: bytes.subarray(offset, offset + limitBytes) }
  }

  async close() {}

  #closeLog(jobid: string, finishReason: string): void {
    this.logs.set(
      jobid,
      `2026-01-01 00:00:00 [scrapy.core.engine] INFO: Closing spider (${finishReason})\n2026-01-01 00:00:00 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n{'finish_reason': '${finishReason}',\n 'item_scraped_count': 3}\n2026-01-01 00:00:00 [scrapy.core.engine] INFO: Spider closed (${finishReason})\n`
    )
  }

  #answer(): void {
    if (this.isDown) throw new NodeError('unreachable', plain('fake is down'), { delivered: 'no' })
  }

  #startPending(): void {
    while (!this.isWedged && this.running.length < this.slots && this.pending.length > 0) {
      const run = this.pending.shift()!
      run.startedAtMs = this.#clock.nowMs()
      this.running.push(run)
      this.logs.set(run.jobid, '2026-01-01 00:00:00 [scrapy.core.engine] INFO: Spider opened\n')
    }
    this.mostRunningAtOnce = Math.max(this.mostRunningAtOnce, this.running.length + this.pending.length)
  }
}

function seen(run: FakeRun): SeenJob {
  return {
    project: run.project,
    spider: run.spider,
    jobid: run.jobid,
    pid: run.startedAtMs === null ? null : 4242,
    startTime: null,
    endTime: null,
    exit: null
  }
}
