import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'
import { runInDirectory } from '../support/long-run.ts'
import { type Service, startService } from '../support/service.ts'
import { Asker, tellAll } from './asking.ts'
import type { FaultKind } from './fault-proxy.ts'
import { complaintsOf, judge, type NodeDeath, type Told, type Verdict } from './judge.ts'
import {
  type ChaosNode,
  type FaultCount,
  isAtWork,
  killNode,
  makeWeather,
  noFaults,
  pause,
  startNodes,
  stopNodes
} from './nodes.ts'
import {
  type ChaosOptions,
  createPlan,
  type PlannedEngineKill,
  type PlannedKill,
  type PlannedNodeKill
} from './plan.ts'
import { chaosEgg, PROJECT } from './project.ts'
import { readTruth, type Run } from './truth.ts'

export interface ChaosResult {
  seed: number
  verdict: Verdict
  complaints: string[]
  /**
   * For each kill of the engine: the time until /health is ready, and until the first job was sent (null: the next
   * kill came first).
   */
  engineRecoveries: { readyMs: number; firstSentMs: number | null }[]
  /** For each kill of a node: the time from its first response until the first job was sent to it. */
  nodeRecoveries: { withSpiders: boolean; firstSentMs: number | null }[]
  faults: Record<FaultKind, FaultCount>
  askedAgain: number
  seconds: number
  versions: string[]
}

export interface RunOptions extends ChaosOptions {
  /** The file that Node runs as the service. Default: the sources. */
  entry?: string
  signal?: AbortSignal
  onProgress?: (text: string) => void
  /** The directory for all data, which remains. Default: a temporary one, which is removed. */
  directory?: string
}

/**
 * After this time without progress, the next kill happens even if too few runs have started, because a kill can
 * restore progress.
 */
const STANDSTILL_MS = 20_000
const READY_LIMIT_MS = 60_000
/**
 * How long the jobs can take to end. Scrapdeck gives up an orphan after a minute of silence, and the job can then wait
 * for its retry.
 */
const QUIET_LIMIT_MS = 240_000

export function runChaos(options: RunOptions): Promise<ChaosResult> {
  return runInDirectory(
    { directory: options.directory, prefix: 'scrapdeck-chaos-' },
    (directory) => new Chaos(options, directory)
  )
}

class Chaos {
  readonly #options: RunOptions
  readonly #directory: string
  readonly #truthFile: string
  readonly #random
  readonly #beganAt = performance.now()
  /** Aborted when the run has ended, was interrupted or is out of time. */
  readonly #over = new AbortController()
  /** Aborted when all jobs have been queued and no more kills or faults follow. */
  readonly #calm = new AbortController()
  readonly #deaths: NodeDeath[] = []
  readonly #faults = noFaults()
  #nodes: ChaosNode[] = []
  #service: Service | null = null
  readonly #killService = () => {
    const pid = this.#service?.pid()
    if (pid != null) process.kill(pid, 'SIGKILL')
  }

  constructor(options: RunOptions, directory: string) {
    this.#options = options
    this.#directory = directory
    this.#random = createSeededRandom(options.seed ^ 0x5eed)
    this.#truthFile = join(directory, 'truth')
    writeFileSync(this.#truthFile, '')
    process.on('exit', this.#killService)
    options.signal?.addEventListener('abort', () => this.#over.abort(new Error('interrupted')))
    this.#over.signal.addEventListener('abort', () => this.#calm.abort())
  }

  async run(): Promise<ChaosResult> {
    const { seed, limitMinutes, versions, slotsPerNode } = this.#options
    const timer = setTimeout(() => this.#over.abort(new Error('out of time')), limitMinutes * 60_000)
    try {
      const plan = createPlan(this.#options)
      await this.#start()
      const asker = new Asker(() => this.#service!.address, this.#over.signal)
      const weather = this.#nodes.map((node) =>
        makeWeather(node, this.#options, this.#random, this.#faults, this.#calm.signal)
      )
      const [, engineRecoveries, nodeRecoveries] = await this.#untilOneFails([
        asker.askAll(plan.jobs, this.#options.backlogMax, () => this.#runs().length),
        this.#killEngine(plan.engineKills),
        this.#killNodes(plan.nodeKills)
      ])
      await this.#untilEveryKindOfWeather(asker)
      this.#calm.abort()
      await Promise.all(weather)
      const told = await this.#untilAllEnded()
      const verdict = judge({
        asked: asker.asked,
        told,
        runs: this.#runs(),
        deaths: this.#deaths,
        nodeNames: await this.#nodeNames()
      })
      const complaints = complaintsOf(verdict, slotsPerNode)
      if (this.#over.signal.aborted)
        complaints.push(`the run did not come to its end: ${String(this.#over.signal.reason)}`)
      for (const [kind, { met }] of Object.entries(this.#faults)) {
        if (met === 0) complaints.push(`no connection ever met the fault ${kind}`)
      }
      return {
        seed,
        verdict,
        complaints,
        engineRecoveries,
        nodeRecoveries,
        faults: this.#faults,
        askedAgain: asker.repeated,
        seconds: Math.round((performance.now() - this.#beganAt) / 1000),
        versions
      }
    } finally {
      clearTimeout(timer)
    }
  }

  async end(): Promise<void> {
    this.#over.abort(new Error('ended'))
    const service = this.#service
    await Promise.all([service?.kill(), stopNodes(this.#nodes)])
    process.off('exit', this.#killService)
  }

  async #start(): Promise<void> {
    const { versions, slotsPerNode, entry } = this.#options
    this.#say(`starting ${versions.length} Scrapyds (${versions.join(', ')}) and the service`)
    this.#nodes = await startNodes(this.#options, this.#truthFile, this.#random)
    this.#service = await startService({ dataDirectory: join(this.#directory, 'data'), localSlots: 0, entry })
    const { client } = this.#service
    for (const { name, proxy } of this.#nodes) await client.nodes.add({ url: proxy.url, name, slots: slotsPerNode })
    await client.projects.upload({ file: await chaosEgg(), project: PROJECT, version: '1' })
  }

  async #untilOneFails<Parts extends readonly Promise<unknown>[]>(
    parts: [...Parts]
  ): Promise<{ [Index in keyof Parts]: Awaited<Parts[Index]> }> {
    try {
      return await Promise.all(parts)
    } catch (error) {
      this.#over.abort(error)
      await Promise.allSettled(parts)
      throw error
    }
  }

  async #killEngine(kills: PlannedEngineKill[]): Promise<ChaosResult['engineRecoveries']> {
    const recoveries: { beganAt: number; readyMs: number }[] = []
    for (const [index, kill] of kills.entries()) {
      await this.#untilTime(kill)
      if (kill.whileHeld) await this.#untilHeld()
      if (this.#over.signal.aborted) break
      await this.#service!.kill()
      const beganAt = performance.now()
      const started = this.#service!.start()
      // A failed start is reported below, by `await started`. Until then, only /health is polled.
      started.catch(() => {})
      const readyMs = (await this.#readyAt(started)) - beganAt
      recoveries.push({ beganAt, readyMs })
      this.#say(`engine killed (${index + 1} of ${kills.length}), ready again in ${Math.round(readyMs)} ms`)
    }
    const sentAt = () => this.#nodes.flatMap(({ sentAtMs }) => sentAtMs)
    return recoveries.map(({ beganAt, readyMs }, index) => {
      const until = recoveries[index + 1]?.beganAt ?? Number.POSITIVE_INFINITY
      const first = Math.min(...sentAt().filter((atMs) => atMs > beganAt && atMs < until))
      return { readyMs, firstSentMs: Number.isFinite(first) ? first - beganAt : null }
    })
  }

  async #readyAt(started: Promise<void>): Promise<number> {
    const limit = performance.now() + READY_LIMIT_MS
    const address = this.#service!.address
    while (performance.now() < limit) {
      try {
        const { status } = await fetch(`${address}/health`, { signal: AbortSignal.timeout(5_000) })
        if (status === 200) {
          const readyAt = performance.now()
          await started
          return readyAt
        }
      } catch {
        // Not listening yet.
      }
      await pause(5, this.#over.signal)
    }
    await started
    throw new Error(`The engine was not ready within ${READY_LIMIT_MS / 1000} s of its start`)
  }

  async #killNodes(kills: PlannedNodeKill[]): Promise<ChaosResult['nodeRecoveries']> {
    const back: { node: ChaosNode; withSpiders: boolean; atMs: number }[] = []
    for (const [index, kill] of kills.entries()) {
      await this.#untilTime(kill)
      if (this.#over.signal.aborted) break
      const node = this.#nodes[kill.node]!
      const what = kill.withSpiders ? 'with its spiders' : 'its Scrapyd alone'
      this.#say(`${node.name} killed, ${what} (${index + 1} of ${kills.length}), for ${Math.round(kill.awayMs)} ms`)
      const atMs = await killNode(node, kill, this.#deaths)
      back.push({ node, withSpiders: kill.withSpiders, atMs })
    }
    return back.map(({ node, withSpiders, atMs }) => {
      const first = node.sentAtMs.find((sentAtMs) => sentAtMs > atMs)
      return { withSpiders, firstSentMs: first === undefined ? null : first - atMs }
    })
  }

  async #untilTime({ atRuns, afterMs }: PlannedKill): Promise<void> {
    let count = this.#runs().length
    let changedAt = performance.now()
    while (count < atRuns && performance.now() - changedAt < STANDSTILL_MS && !this.#over.signal.aborted) {
      await pause(50, this.#over.signal)
      const now = this.#runs().length
      if (now !== count) changedAt = performance.now()
      count = now
    }
    await pause(afterMs, this.#over.signal)
  }

  async #untilHeld(): Promise<void> {
    const limit = performance.now() + 3_000 * this.#options.weatherSeconds
    while (performance.now() < limit && !this.#nodes.some(({ proxy }) => proxy.isHolding)) {
      if (this.#over.signal.aborted) return
      await pause(10, this.#over.signal)
    }
  }

  /**
   * Queues more jobs until every kind of fault has affected a connection, because a short run can end before that
   * happens.
   */
  async #untilEveryKindOfWeather(asker: Asker): Promise<void> {
    const limit = performance.now() + 60_000
    const { jobs, backlogMax } = this.#options
    for (let number = jobs + 1; performance.now() < limit && !this.#over.signal.aborted; number++) {
      if (Object.values(this.#faults).every(({ met }) => met > 0)) return
      const job = { number, spider: 'quick', seconds: 0, door: 'run', retry: null } as const
      await asker.askAll([job], backlogMax, () => this.#runs().length)
      await pause(250, this.#over.signal)
    }
  }

  async #untilAllEnded(): Promise<Told[]> {
    const { client } = this.#service!
    this.#say('all asked for; waiting for the last to end')
    const limit = performance.now() + QUIET_LIMIT_MS
    for (;;) {
      const { jobs } = await client.jobs.list({ status: ['queued', 'starting', 'running'], limit: 1 })
      const isQuiet = jobs.length === 0 && !this.#runs().some((run) => isAtWork(run, this.#deaths))
      if (isQuiet || performance.now() > limit || this.#over.signal.aborted) break
      await pause(200, this.#over.signal)
    }
    const runsOf = Map.groupBy(this.#runs(), ({ number }) => number)
    return tellAll(client, (number) => runsOf.get(number)?.length === 1)
  }

  async #nodeNames(): Promise<Map<string, string>> {
    const { nodes } = await this.#service!.client.nodes.list()
    return new Map(nodes.map(({ id, name }) => [id, name]))
  }

  #runs(): Run[] {
    return readTruth(this.#truthFile)
  }

  #say(text: string): void {
    const seconds = ((performance.now() - this.#beganAt) / 1000).toFixed(0).padStart(5)
    this.#options.onProgress?.(`${seconds} s  ${this.#runs().length} runs  ${text}`)
  }
}
