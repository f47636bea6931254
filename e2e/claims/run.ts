import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type PostgresServer, startPostgres } from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { until } from '../../src/engine/testing/until.ts'
import { type ScheduleId, ScheduleSettings } from '../../src/shared/contract/index.ts'
import { Asker, tellAll } from '../chaos/asking.ts'
import { ChaosEngine } from '../chaos/engines.ts'
import { judgeFirings } from '../chaos/judge-firings.ts'
import type { Asked } from '../chaos/judge.ts'
import { pause } from '../chaos/nodes.ts'
import type { PlannedJob } from '../chaos/plan.ts'
import { chaosEgg, PROJECT } from '../chaos/project.ts'
import { allFirings } from '../chaos/together.ts'
import { readTruth, type Run } from '../chaos/truth.ts'
import { startPullingScrapyd } from '../pulling/pulling-scrapyd.ts'
import { runInDirectory } from '../support/long-run.ts'
import { askRest, type RestAnswer } from '../support/rest.ts'
import { type RoundRobin, startRoundRobin } from '../support/round-robin.ts'
import type { Scrapyd } from '../support/scrapyd-fleet.ts'
import { type Client, connectClient, TEST_CREDENTIALS } from '../support/service.ts'
import { judgeRuns, mostAtOnce } from './judge-runs.ts'
import type { ClaimsOptions, Strike } from './plan.ts'

export interface ClaimsResult {
  complaints: string[]
  jobs: { asked: number; runs: number; nodesUsed: number; mostAtOnce: number; seconds: number; askedAgain: number }
  /** The faults of the leader while the jobs ran, and how many claims the nodes held at the time. */
  strikes: { strike: Strike; heldClaims: number; nextLeaderMs: number }[]
  orders: { sent: number; during: string; jobs: number; seconds: number; sentAgain: number }[]
  firings: { schedules: number; firings: number; runs: number }
  requestsPerEngine: number[]
  /** Resident memory in MiB: of all Scrapyds together and of each engine. */
  memory: { scrapyds: number; engines: number[] }
  seconds: number
}

export interface ClaimsRunOptions extends ClaimsOptions {
  entry?: string
  signal?: AbortSignal
  directory?: string
  onProgress?: (text: string) => void
}

/** The first numbers of orders and schedules. Jobs are numbered from 1. */
const ORDERS = 1_000_000
const SCHEDULES = 2_000_000
const BULK = 100
const NEW_LEADER_MS = 60_000
const ORDER_LIMIT_MS = 60_000
/**
 * How long to wait without progress. Must exceed the time after which a job that an engine might have sent is given up.
 */
const STANDSTILL_MS = 200_000

export function runClaims(options: ClaimsRunOptions): Promise<ClaimsResult> {
  return runInDirectory(
    { directory: options.directory, prefix: 'scrapdeck-claims-' },
    (directory) => new Claims(options, directory)
  )
}

class Claims {
  readonly #options: ClaimsRunOptions
  readonly #directory: string
  readonly #truthFile: string
  readonly #beganAt = performance.now()
  readonly #over = new AbortController()
  readonly #asked: Asked[] = []
  readonly #complaints: string[] = []
  readonly #scrapyds: Scrapyd[] = []
  readonly #engines: ChaosEngine[] = []
  #database: PostgresServer | null = null
  #balancer: RoundRobin | null = null
  readonly #killAll = () => {
    for (const engine of this.#engines) engine.signal('SIGKILL')
  }

  constructor(options: ClaimsRunOptions, directory: string) {
    this.#options = options
    this.#directory = directory
    this.#truthFile = join(directory, 'truth')
    writeFileSync(this.#truthFile, '')
    process.on('exit', this.#killAll)
    options.signal?.addEventListener('abort', () => this.#over.abort(new Error('interrupted')))
  }

  async run(): Promise<ClaimsResult> {
    const limit = setTimeout(() => this.#over.abort(new Error('out of time')), this.#options.limitMinutes * 60_000)
    try {
      await this.#start()
      const orders = [await this.#sendOrders(ORDERS, null), await this.#sendOrders(ORDERS + 1, 'handover')]
      const { strikes, seconds, askedAgain } = await this.#runJobs()
      const memory = this.#measureMemory()
      const firings = await this.#fire()
      const runs = this.#runs()
      const all = await this.#untilAnswered((client) => tellAll(client, () => true))
      const told = all.map(({ number, job }) => ({ number, ...job }))
      this.#complaints.push(...judgeRuns(this.#asked, told, runs))
      const most = mostAtOnce(runs)
      for (const [node, count] of most) {
        if (count > this.#options.slotsPerNode) this.#complain(`${node} ran ${count} spiders at once`)
      }
      const isJob = ({ number }: Run) => number < ORDERS
      return {
        complaints: this.#complaints,
        jobs: {
          asked: this.#options.jobs,
          runs: runs.filter(isJob).length,
          nodesUsed: most.size,
          seconds,
          askedAgain,
          mostAtOnce: Math.max(...most.values())
        },
        strikes,
        orders: orders.map(({ number, ...rest }) => ({
          ...rest,
          jobs: told.filter((job) => job.number === number).length
        })),
        firings: { ...firings, runs: runs.filter(({ number }) => number >= SCHEDULES).length },
        requestsPerEngine: this.#engines.map(({ service }) => this.#balancer!.counts.get(service.address) ?? 0),
        memory,
        seconds: this.#seconds()
      }
    } finally {
      clearTimeout(limit)
    }
  }

  async end(): Promise<void> {
    this.#over.abort(new Error('ended'))
    for (const engine of this.#engines) engine.signal('SIGCONT')
    await Promise.all([
      ...this.#engines.map(({ service }) => service.kill()),
      ...this.#scrapyds.map((scrapyd) => scrapyd.stop())
    ])
    await this.#balancer?.close()
    await this.#database?.stop()
    for (const { name, service } of this.#engines) writeFileSync(join(this.#directory, `${name}.log`), service.output())
    process.off('exit', this.#killAll)
  }

  async #start(): Promise<void> {
    const { nodes, startedAtOnce, slotsPerNode } = this.#options
    this.#say(`starting PostgreSQL, two engines and ${nodes} Scrapyds that pull`)
    this.#database = await startPostgres()
    this.#balancer = await startRoundRobin(() => this.#engines.map(({ service }) => service.address))
    for (const name of ['north', 'south']) {
      const engine = await ChaosEngine.start({
        name,
        dataDirectory: join(this.#directory, name),
        blobs: join(this.#directory, 'blobs'),
        keyFrom: name === 'north' ? null : join(this.#directory, 'north'),
        database: this.#database.url,
        entry: this.#options.entry,
        environment: { SCRAPDECK_ALLOWED_HOST: new URL(this.#balancer.url).host }
      })
      this.#engines.push(engine)
    }
    await this.#client.projects.upload({ file: await chaosEgg(), project: PROJECT, version: '1' })
    const names = Array.from({ length: nodes }, (_, index) => `node-${index + 1}`)
    const startRest = async () => {
      for (let name = names.shift(); name !== undefined; name = names.shift()) {
        this.#over.signal.throwIfAborted()
        await this.#startNode(name, slotsPerNode)
      }
    }
    await Promise.all(Array.from({ length: startedAtOnce }, startRest))
  }

  /** Starts a stock Scrapyd whose `runner` records its runs and does not import Scrapy. */
  async #startNode(name: string, maxProc: number): Promise<void> {
    const { scrapyd } = await startPullingScrapyd(this.#engines[0]!.service, {
      name,
      maxProc,
      url: this.#balancer!.url,
      configuration: { runner: 'chaos_runner' },
      pythonPath: join(import.meta.dirname, '../chaos'),
      environment: { PYTHONDONTWRITEBYTECODE: '1', CHAOS_TRUTH: this.#truthFile, CHAOS_NODE: name }
    })
    this.#scrapyds.push(scrapyd)
  }

  async #sendOrders(number: number, during: 'handover' | null) {
    const { orders } = this.#options
    this.#say(`${orders} identical crawl orders at once${during === null ? '' : `, and a ${during}`}`)
    const urls = ['https://shop.example/', 'https://shop.example/shoes']
    const params = { number: String(number), seconds: '0.2' }
    const since = performance.now()
    let sentAgain = 0
    const send = async (index: number): Promise<RestAnswer> => {
      const body = {
        project: PROJECT,
        spider: 'quick',
        user_id: 'ann',
        depth: 2,
        params,
        start_urls: index % 4 < 2 ? urls : urls.toReversed()
      }
      const request = { method: 'POST', path: '/crawl', body }
      for (;;) {
        const { address } = this.#engines[(index + sentAgain) % this.#engines.length]!.service
        const answer = await askRest(address, request).catch(() => null)
        // No engine led, or the leader ended during the request. docs/scaling.md tells clients to repeat it.
        const isOver = (answer !== null && answer.status !== 503) || performance.now() - since > ORDER_LIMIT_MS
        if (isOver) return answer ?? { status: 0, headers: new Headers(), body: {} }
        sentAgain += 1
        await pause(200, this.#over.signal)
      }
    }
    const sending = Array.from({ length: orders }, (_, index) => send(index))
    if (during !== null) await this.#strike(during)
    const answers = await Promise.all(sending)
    const ids = new Set(answers.map(({ body }) => String(body?.job_id)))
    const fresh = answers.filter(({ body }) => body?.cached === false).length
    for (const { status } of answers) if (status !== 200) this.#complain(`a crawl order was answered with ${status}`)
    if (ids.size !== 1) this.#complain(`${orders} identical orders were answered with ${ids.size} jobs`)
    // If requests were repeated, the response that reported the new job may have been lost.
    if (fresh > 1 || (sentAgain === 0 && fresh === 0)) this.#complain(`${fresh} answers say that the job is new`)
    this.#asked.push({ number, id: [...ids][0]! })
    await this.#untilAllEnded()
    return { number, sent: orders, during: during ?? 'calm', seconds: this.#since(since), sentAgain }
  }

  async #runJobs(): Promise<Pick<ClaimsResult, 'strikes'> & { seconds: number; askedAgain: number }> {
    const { jobs, strikes } = this.#options
    this.#say(`${jobs} jobs`)
    const since = performance.now()
    const before = this.#runs().length
    const asker = new Asker(() => this.#balancer!.url, this.#over.signal, BULK)
    const planned = Array.from({ length: jobs }, (_, index) => planJob(index + 1, this.#options))
    const asking = asker.askAll(planned, Number.POSITIVE_INFINITY, () => 0)
    const struck: ClaimsResult['strikes'] = []
    for (const [index, strike] of strikes.entries()) {
      await this.#untilRuns(before + Math.floor((jobs * (index + 1)) / (strikes.length + 1)))
      struck.push(await this.#strike(strike))
    }
    await asking
    this.#asked.push(...asker.asked)
    await this.#untilRuns(before + jobs)
    await this.#untilAllEnded()
    return { strikes: struck, seconds: this.#since(since), askedAgain: asker.repeated }
  }

  async #fire(): Promise<{ schedules: number; firings: number }> {
    const { schedules, scheduleSeconds, firingSeconds } = this.#options
    this.#say(`${schedules} schedules, each every ${scheduleSeconds} s, for ${firingSeconds} s`)
    const ids: ScheduleId[] = []
    for (let index = 0; index < schedules; index += 1) {
      const args = { number: String(SCHEDULES + index), seconds: '0.1' }
      const settings = ScheduleSettings.parse({
        name: `claims-${index}`,
        zone: 'UTC',
        overlap: 'allow',
        catchUp: 'all',
        rules: [{ kind: 'interval', everySeconds: scheduleSeconds, anchorMs: 0 }],
        jobs: [{ project: PROJECT, spiders: ['quick'], args }]
      })
      const { schedule } = await this.#untilAnswered((client) =>
        client.schedules.create({ ...settings, replace: true })
      )
      ids.push(schedule.id)
    }
    await pause(firingSeconds * 500, this.#over.signal)
    await this.#strike('handover')
    await pause(firingSeconds * 500, this.#over.signal)
    await this.#untilAnswered((client) => client.schedules.setPaused({ ids, paused: true }))
    await this.#untilAllEnded()
    let count = 0
    for (const scheduleId of ids) {
      const firings = await this.#untilAnswered((client) => allFirings(client, scheduleId))
      count += firings.length
      this.#complaints.push(...judgeFirings(firings, scheduleSeconds * 1_000))
      const least = Math.floor(firingSeconds / scheduleSeconds)
      if (firings.length < least) this.#complain(`a schedule fired ${firings.length} times, and not ${least}`)
    }
    const fired = this.#runs().filter(({ number }) => number >= SCHEDULES).length
    if (fired !== count) this.#complain(`${count} firings have ${fired} runs`)
    return { schedules, firings: count }
  }

  async #strike(strike: Strike): Promise<ClaimsResult['strikes'][number]> {
    const leader = await this.#leader()
    const other = this.#engines.find((engine) => engine !== leader)!
    const heldClaims = this.#runs().filter(({ endedAtMs }) => endedAtMs === null).length
    this.#say(`${strike} of ${leader.name}, which leads, while ${heldClaims} spiders run`)
    const since = performance.now()
    if (strike === 'handover') await this.#handOver(other)
    else if (strike === 'kill') await leader.service.kill()
    else leader.signal('SIGSTOP')
    await until('the other engine leads', () => other.leads(), Boolean, NEW_LEADER_MS)
    const nextLeaderMs = Math.round(performance.now() - since)
    if (strike === 'kill') await leader.startAgain(this.#over.signal)
    if (strike === 'stall') {
      await pause(this.#options.stallSeconds * 1_000 - nextLeaderMs, this.#over.signal)
      leader.signal('SIGCONT')
    }
    return { strike, heldClaims, nextLeaderMs }
  }

  /**
   * Requests handovers until the engine leads. The response can be lost, because the old leader, which has to send it,
   * may end first.
   */
  async #handOver(to: ChaosEngine): Promise<void> {
    const handOver = async () => {
      if (await to.leads()) return true
      const { engines } = await this.#client.engines.list()
      const { id } = engines.findLast(({ name, state }) => name === to.name && state === 'following')!
      await this.#client.engines.handOver({ to: id })
      return false
    }
    const again = () => pause(500, this.#over.signal)
    await until('the leadership to be handed over', () => handOver().catch(() => false), Boolean, NEW_LEADER_MS, again)
  }

  async #untilAnswered<Answer>(ask: (client: Client) => Promise<Answer>): Promise<Answer> {
    const since = performance.now()
    for (;;) {
      try {
        return await ask(this.#client)
      } catch (error) {
        this.#over.signal.throwIfAborted()
        if (performance.now() - since > NEW_LEADER_MS) throw error
        await pause(500, this.#over.signal)
      }
    }
  }

  async #leader(): Promise<ChaosEngine> {
    const find = async () => {
      const leads = await Promise.all(this.#engines.map((engine) => engine.leads()))
      return this.#engines.find((_, index) => leads[index]) ?? null
    }
    return (await until('an engine leads', find, Boolean, NEW_LEADER_MS))!
  }

  /** Gives up when no more runs start. judgeRuns then reports what is missing. */
  async #untilRuns(wanted: number): Promise<void> {
    let [count, changedAt] = [this.#countRuns(), performance.now()]
    while (count < wanted && performance.now() - changedAt < STANDSTILL_MS) {
      this.#over.signal.throwIfAborted()
      await pause(500, this.#over.signal)
      const now = this.#countRuns()
      if (now !== count) [count, changedAt] = [now, performance.now()]
    }
  }

  /** Gives up when no more jobs end. The engine can still be reading the logs of thousands of runs. */
  async #untilAllEnded(): Promise<void> {
    let [left, changedAt] = [-1, performance.now()]
    while (left !== 0 && performance.now() - changedAt < STANDSTILL_MS) {
      this.#over.signal.throwIfAborted()
      const facets = await this.#client.jobs.facets({}).catch(() => null)
      const live = facets?.status.filter(({ value }) => ['queued', 'starting', 'running'].includes(value))
      const now = live?.reduce((sum, { count }) => sum + count, 0) ?? left
      if (now !== left) [left, changedAt] = [now, performance.now()]
      if (left !== 0) await pause(250, this.#over.signal)
    }
  }

  get #client(): Client {
    return connectClient(this.#balancer!.url, TEST_CREDENTIALS)
  }

  #measureMemory(): ClaimsResult['memory'] {
    const scrapyds = this.#scrapyds.map((scrapyd) => residentMegabytes(scrapyd.pid()))
    return {
      scrapyds: Math.round(scrapyds.reduce((sum, one) => sum + one, 0)),
      engines: this.#engines.map(({ service }) => Math.round(residentMegabytes(service.pid())))
    }
  }

  #runs(): Run[] {
    return readTruth(this.#truthFile)
  }

  /**
   * Reads the file directly. It is called often and must not wait for the load balancer, which runs in this process.
   */
  #countRuns(): number {
    return readFileSync(this.#truthFile, 'latin1').split('begin ').length - 1
  }

  #complain(text: string): void {
    this.#complaints.push(text)
  }

  #seconds(): number {
    return this.#since(this.#beganAt)
  }

  #since(at: number): number {
    return Math.round((performance.now() - at) / 100) / 10
  }

  #say(text: string): void {
    this.#options.onProgress?.(`${this.#seconds().toFixed(0).padStart(5)} s  ${this.#countRuns()} runs  ${text}`)
  }
}

function planJob(number: number, { longEvery, longSeconds }: ClaimsOptions): PlannedJob {
  const seconds = number % longEvery === 0 ? longSeconds : 0.2
  return { number, spider: 'quick', seconds, door: number % 500 === 0 ? 'run' : 'bulk', retry: null }
}

function residentMegabytes(pid: number | null): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
