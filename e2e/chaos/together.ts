import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startPostgres, type PostgresServer } from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'
import { type Firing, type ScheduleId, ScheduleSettings } from '../../src/shared/contract/index.ts'
import { runInDirectory } from '../support/long-run.ts'
import type { Client } from '../support/service.ts'
import { Asker, tellAll } from './asking.ts'
import { ChaosEngine } from './engines.ts'
import { complaintsOf, judge, type NodeDeath, type Told, type Verdict } from './judge.ts'
import { judgeFirings } from './judge-firings.ts'
import { type ChaosNode, isAtWork, makeWeather, noFaults, pause, startNodes, stopNodes } from './nodes.ts'
import { between, createPlan, type TogetherOptions } from './plan.ts'
import { chaosEgg, PROJECT } from './project.ts'
import { readTruth, type Run } from './truth.ts'

export interface TogetherResult {
  seed: number
  verdict: Verdict
  complaints: string[]
  /** For each kill or stall of the leader, the time until an engine sent a job again. */
  firstSentMs: { what: string; ms: number | null }[]
  firings: number
  terms: number
  endedItself: number
  askedAgain: number
  seconds: number
}

export interface TogetherRunOptions extends TogetherOptions {
  entry?: string
  signal?: AbortSignal
  onProgress?: (text: string) => void
  directory?: string
}

const STANDSTILL_MS = 20_000
/**
 * How long the jobs can take to end. Scrapdeck searches for a run in doubt for 65 s and gives up an orphan after a
 * minute of silence.
 */
const QUIET_LIMIT_MS = 240_000
/** The number of engines that are left running. Stalling the only possible leader would not test failover. */
const LEFT_ALONE = 1

export function runTogether(options: TogetherRunOptions): Promise<TogetherResult> {
  return runInDirectory(
    { directory: options.directory, prefix: 'scrapdeck-chaos-' },
    (directory) => new Together(options, directory)
  )
}

class Together {
  readonly #options: TogetherRunOptions
  readonly #directory: string
  readonly #truthFile: string
  readonly #random
  readonly #beganAt = performance.now()
  readonly #over = new AbortController()
  readonly #calm = new AbortController()
  readonly #deaths: NodeDeath[] = []
  readonly #struck: { what: string; atMs: number }[] = []
  #nodes: ChaosNode[] = []
  #engines: ChaosEngine[] = []
  #database: PostgresServer | null = null
  #turn = 0
  readonly #killAll = () => {
    for (const engine of this.#engines) engine.signal('SIGKILL')
  }

  constructor(options: TogetherRunOptions, directory: string) {
    this.#options = options
    this.#directory = directory
    this.#random = createSeededRandom(options.seed ^ 0x5eed)
    this.#truthFile = join(directory, 'truth')
    writeFileSync(this.#truthFile, '')
    process.on('exit', this.#killAll)
    options.signal?.addEventListener('abort', () => this.#over.abort(new Error('interrupted')))
    this.#over.signal.addEventListener('abort', () => this.#calm.abort())
  }

  async run(): Promise<TogetherResult> {
    const { seed, limitMinutes, slotsPerNode, engineKills, stalls, databaseRestarts } = this.#options
    const timer = setTimeout(() => this.#over.abort(new Error('out of time')), limitMinutes * 60_000)
    try {
      await this.#start()
      const supervising = this.#supervise()
      const asker = new Asker(() => this.#anyAddress(), this.#over.signal)
      const faults = noFaults()
      const weather = this.#options.hasWeather
        ? this.#nodes.map((node) => makeWeather(node, this.#options, this.#random, faults, this.#calm.signal))
        : []
      const ended = await Promise.allSettled([
        asker.askAll(createPlan(this.#options).jobs, this.#options.backlogMax, () => this.#runs().length),
        this.#strike(engineKills, (index) => this.#kill(index)),
        this.#strike(stalls, (index) => this.#stall(index)),
        this.#strike(databaseRestarts, () => this.#restartDatabase())
      ])
      this.#calm.abort()
      await Promise.all(weather)
      for (const one of ended) if (one.status === 'rejected') throw one.reason
      const client = await this.#untilSomebodyLeads()
      const scheduleId = await this.#pauseSchedule(client)
      const { told, runs } = asPlanned(await this.#untilAllEnded(), this.#runs())
      const scheduled = told
        .filter(({ number }) => number >= SCHEDULED)
        .map(({ number, job }) => ({ number, id: job.id }))
      const nodeNames = new Map((await client.nodes.list()).nodes.map(({ id, name }) => [id, name]))
      const verdict = judge({ asked: [...asker.asked, ...scheduled], told, runs, deaths: this.#deaths, nodeNames })
      const firings = await allFirings(client, scheduleId)
      const complaints = [
        ...complaintsOf(verdict, slotsPerNode),
        ...judgeFirings(firings, this.#options.scheduleSeconds * 1_000)
      ]
      if (this.#over.signal.aborted) complaints.push(`the run did not end: ${String(this.#over.signal.reason)}`)
      const { terms } = await client.engines.list()
      this.#over.abort(new Error('ended'))
      await supervising
      return {
        seed,
        verdict,
        complaints,
        firings: firings.length,
        terms: terms[0]?.epoch ?? 0,
        firstSentMs: this.#firstSent(),
        endedItself: this.#engines.reduce((sum, { endedItself }) => sum + endedItself, 0),
        askedAgain: asker.repeated,
        seconds: Math.round((performance.now() - this.#beganAt) / 1000)
      }
    } finally {
      clearTimeout(timer)
    }
  }

  async end(): Promise<void> {
    this.#over.abort(new Error('ended'))
    for (const engine of this.#engines) engine.signal('SIGCONT')
    await Promise.all([...this.#engines.map(({ service }) => service.kill()), stopNodes(this.#nodes)])
    await this.#database?.stop()
    process.off('exit', this.#killAll)
  }

  async #start(): Promise<void> {
    const { engines, versions, slotsPerNode, entry, scheduleSeconds } = this.#options
    this.#say(`starting PostgreSQL, ${versions.length} Scrapyds (${versions.join(', ')}) and ${engines} engines`)
    this.#database = await startPostgres()
    this.#nodes = await startNodes(this.#options, this.#truthFile, this.#random)
    for (let index = 1; index <= engines; index += 1) {
      const engine = await ChaosEngine.start({
        name: `engine-${index}`,
        dataDirectory: join(this.#directory, `data-${index}`),
        keyFrom: index === 1 ? null : join(this.#directory, 'data-1'),
        blobs: join(this.#directory, 'blobs'),
        database: this.#database.url,
        entry
      })
      this.#engines.push(engine)
    }
    const { client } = this.#engines.at(-1)!.service
    for (const { name, proxy } of this.#nodes) await client.nodes.add({ url: proxy.url, name, slots: slotsPerNode })
    await client.projects.upload({ file: await chaosEgg(), project: PROJECT, version: '1' })
    await client.schedules.create(
      ScheduleSettings.parse({
        name: SCHEDULE,
        zone: 'UTC',
        rules: [{ kind: 'interval', everySeconds: scheduleSeconds, anchorMs: 0 }],
        jobs: [{ project: PROJECT, spiders: ['quick'], args: { number: '0', seconds: '0.1' } }],
        overlap: 'allow',
        catchUp: 'all'
      })
    )
  }

  async #strike(count: number, strike: (index: number) => Promise<void>): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      await this.#untilRuns(Math.floor(((index + this.#random.next()) / count) * this.#options.jobs * 0.95))
      if (this.#over.signal.aborted) return
      await strike(index)
    }
  }

  async #untilRuns(wanted: number): Promise<void> {
    let count = this.#runs().length
    let changedAt = performance.now()
    while (count < wanted && performance.now() - changedAt < STANDSTILL_MS && !this.#over.signal.aborted) {
      await pause(50, this.#over.signal)
      const now = this.#runs().length
      if (now !== count) changedAt = performance.now()
      count = now
    }
    await pause(this.#random.next() * 1_500, this.#over.signal)
  }

  /**
   * Chooses the next engine to kill or stall: usually the leader, every third time another one. Waits until another
   * engine is up.
   */
  async #victim(index: number): Promise<{ engine: ChaosEngine; what: string } | null> {
    for (;;) {
      if (this.#over.signal.aborted) return null
      const there = this.#engines.filter((engine) => !engine.isAway && engine.isRunning)
      if (there.length > LEFT_ALONE) {
        const leads = await Promise.all(there.map((engine) => engine.leads()))
        const wantsLeader = index % 3 !== 2
        const engine = there.find((one, at) => !one.isAway && leads[at] === wantsLeader)
        if (engine !== undefined) {
          engine.isAway = true
          return { engine, what: wantsLeader ? 'the leader' : 'a follower' }
        }
      }
      await pause(100, this.#over.signal)
    }
  }

  async #kill(index: number): Promise<void> {
    const victim = await this.#victim(index)
    if (victim === null) return
    const { engine, what } = victim
    this.#say(`${what}, ${engine.name}, killed (${index + 1} of ${this.#options.engineKills})`)
    this.#struck.push({ what: `kill of ${what}`, atMs: performance.now() })
    await engine.service.kill()
    await pause(this.#random.next() * 2_000, this.#over.signal)
    await engine.startAgain(this.#over.signal)
    engine.isAway = false
  }

  async #stall(index: number): Promise<void> {
    const victim = await this.#victim(index)
    if (victim === null) return
    const { engine, what } = victim
    const [least, most] = this.#options.stallSeconds
    const forMs = between(this.#random, least, most) * 1000
    this.#say(`${what}, ${engine.name}, stopped for ${Math.round(forMs)} ms (${index + 1} of ${this.#options.stalls})`)
    this.#struck.push({ what: `stall of ${what}`, atMs: performance.now() })
    engine.signal('SIGSTOP')
    await pause(forMs, this.#over.signal)
    engine.signal('SIGCONT')
    engine.isAway = false
  }

  async #restartDatabase(): Promise<void> {
    this.#say('PostgreSQL ends at once, and starts again')
    this.#struck.push({ what: 'restart of PostgreSQL', atMs: performance.now() })
    await this.#database!.crash()
    await pause(this.#random.next() * 3_000, this.#over.signal)
    await this.#database!.start()
  }

  async #supervise(): Promise<void> {
    while (!this.#over.signal.aborted) {
      for (const engine of this.#engines) {
        if (engine.isAway || engine.isRunning) continue
        engine.isAway = true
        engine.endedItself += 1
        this.#say(`${engine.name} ended by itself`)
        await engine.startAgain(this.#over.signal)
        engine.isAway = false
      }
      await pause(200, this.#over.signal)
    }
  }

  /**
   * Returns the address of the next engine in turn. The engine can be down, because clients do not know which engines
   * are up.
   */
  #anyAddress(): string {
    this.#turn += 1
    return this.#engines[this.#turn % this.#engines.length]!.service.address
  }

  async #untilSomebodyLeads(): Promise<Client> {
    const limit = performance.now() + 60_000
    for (;;) {
      for (const { service } of this.#engines) {
        const isThere = await fetch(`${service.address}/health/ready`, { signal: AbortSignal.timeout(2_000) }).then(
          ({ status }) => status === 200,
          () => false
        )
        if (isThere) return service.client
      }
      if (performance.now() > limit || this.#over.signal.aborted) throw new Error('no engine leads')
      await pause(200, this.#over.signal)
    }
  }

  async #pauseSchedule(client: Client): Promise<ScheduleId> {
    const { schedules } = await client.schedules.list({})
    const { id } = schedules.find(({ name }) => name === SCHEDULE)!
    await client.schedules.setPaused({ ids: [id], paused: true })
    return id
  }

  async #untilAllEnded(): Promise<Told[]> {
    this.#say('all asked for; waiting for the last to end')
    const limit = performance.now() + QUIET_LIMIT_MS
    for (;;) {
      const client = await this.#untilSomebodyLeads()
      try {
        const { jobs } = await client.jobs.list({ status: ['queued', 'starting', 'running'], limit: 1 })
        const isQuiet = jobs.length === 0 && !this.#runs().some((run) => isAtWork(run, this.#deaths))
        if (isQuiet || performance.now() > limit || this.#over.signal.aborted) return await tellAll(client, () => false)
      } catch {
        // Another engine leads now.
      }
      await pause(200, this.#over.signal)
    }
  }

  #firstSent(): TogetherResult['firstSentMs'] {
    const sent = this.#nodes.flatMap(({ sentAtMs }) => sentAtMs)
    return this.#struck.map(({ what, atMs }) => {
      const first = Math.min(...sent.filter((one) => one > atMs))
      return { what, ms: Number.isFinite(first) ? Math.round(first - atMs) : null }
    })
  }

  #runs(): Run[] {
    return readTruth(this.#truthFile)
  }

  #say(text: string): void {
    const seconds = ((performance.now() - this.#beganAt) / 1000).toFixed(0).padStart(5)
    this.#options.onProgress?.(`${seconds} s  ${this.#runs().length} runs  ${text}`)
  }
}

const SCHEDULE = 'each few seconds'
/**
 * The first number for jobs of the schedule. All of these have the same argument, so their ids are mapped to numbers.
 */
const SCHEDULED = 1_000_000

function asPlanned(told: Told[], runs: Run[]): { told: Told[]; runs: Run[] } {
  const numbers = new Map<string, number>()
  for (const { number, job } of told) if (number === 0) numbers.set(job.id, SCHEDULED + numbers.size)
  const numberOf = (jobid: string) => numbers.get(jobid.replace(/-\d+$/, ''))
  return {
    told: told.map((one) => ({ ...one, number: numbers.get(one.job.id) ?? one.number })),
    // No job has the number 0, so a run of the schedule without a job causes a complaint.
    runs: runs.map((run) => ({ ...run, number: run.number === 0 ? (numberOf(run.jobid) ?? 0) : run.number }))
  }
}

/** The firings of one schedule, without those skipped because the schedule was paused at the end. */
export async function allFirings(client: Client, scheduleId: ScheduleId): Promise<Firing[]> {
  const all: Firing[] = []
  let before: number | undefined
  for (;;) {
    const { firings, nextBefore } = await client.schedules.firings({ scheduleId, before, limit: 500 })
    all.push(...firings.filter(({ reason }) => reason !== 'paused'))
    if (nextBefore === null) return all
    before = nextBefore
  }
}
