import { createHash } from 'node:crypto'
import { silentLogger } from '../src/engine/runtime/logger.ts'
import type { Attempt } from '../src/shared/contract/index.ts'
import { aNodeId, aProjectName, aVersionName } from '../src/shared/testing/ids.ts'
import { systemClock } from '../src/engine/runtime/clock.ts'
import { openSqliteStoreHere } from '../src/engine/storage/sqlite/sqlite-store.ts'
import type { AttemptChange } from '../src/engine/model/attempt-change.ts'
import type { StoredLimits, StoredNode, StoredVersion } from '../src/engine/model/records.ts'
import type { Store } from '../src/engine/storage/store.ts'
import { SPIDERS } from './scrapyd/http.ts'
import { type HttpAnswer, SimulatedScrapyd } from './scrapyd/simulated-scrapyd.ts'
import type { Run } from './scrapyd/run.ts'
import { createChance } from './world/chance.ts'
import { Faults } from './world/faults.ts'
import type { Death } from './world/life.ts'
import { Cluster } from './world/cluster.ts'
import { type Client, Machine, type World } from './world/machine.ts'
import { aLink, Network } from './world/network.ts'
import { NeverAtRest, VirtualTime } from './world/time.ts'
import type { Belief, History, Sample } from './work/history.ts'
import { EngineNemesis } from './work/engine-nemesis.ts'
import { Nemesis } from './work/nemesis.ts'
import { Operators } from './work/operators.ts'
import { enginesScenarioOf, type Scenario, scenarioOf } from './work/scenario.ts'

/** After the end of the work and the faults, all jobs that can run must have run within this time. */
const QUIET_LIMIT_MS = 1_800_000
/** If only queued jobs are left and no event has occurred for this long, no job can run any more. */
const STILL_MS = 900_000
/** After the last fault, one of several engines must lead within this time and remain the leader. */
const SETTLES_MS = 30_000
const SAMPLE_EVERY_MS = 10_000
const RESTART_AFTER_MS = [50, 3_000] as const

export interface StoryOptions {
  seed: number
  /** The story's own directory, removed at the end. */
  directory: string
  template: string
  /** Kills the first engine at this call, in addition to the seed's own kills. */
  death?: Death | null
  /** Default: derived from the seed. */
  scenario?: Scenario
  /** The number of engines on one database. Default: 1. */
  engines?: number
  /** Whether commits can take effect without a response. Default: false. */
  losesAnswers?: boolean
}

export interface Story {
  history: History
  /** The calls of the engine's first life, for a sweep. */
  callsOfFirstLife: string[]
  /** Hash of all store calls, their results and times. Identical for two runs of one seed. */
  traceHash: string
}

export async function simulate(options: StoryOptions): Promise<Story> {
  const { seed } = options
  const scenario = options.scenario ?? scenarioOf(seed)
  const time = new VirtualTime()
  const faults = new Faults(() => time.nowMs)
  const nodes = buildNodes(scenario, time, faults)
  const beliefs: Belief[] = []
  const samples: Sample[] = []
  const trace = createHash('sha256')
  const hosts = new Map<string, string>()
  const witness = (method: string, parameters: unknown[], answer: unknown) => {
    trace.update(`${time.nowMs} ${method} ${JSON.stringify(parameters)} ${JSON.stringify(answer)}\n`)
    for (const belief of beliefsIn(method, parameters, answer)) {
      beliefs.push({ atMs: time.nowMs, ...belief } as Belief)
      if (belief.kind === 'node') hosts.set(belief.id, belief.host)
    }
  }
  const newLists = () => new ListsSeen((host) => nodes.get(host)?.version === '1.2')
  let lists = newLists()
  const strays: History['strays'] = []
  const network: Network = new Network({
    time,
    nodes,
    chance: createChance(seed, 'network'),
    faults,
    wallMs: () => machine.wallMs(),
    // Excludes responses to a former leader, because the current leader does not know them.
    onAnswer: (host, endpoint, answer, life) => {
      if (machine.leads(life)) beliefs.push(...lists.take(host, endpoint, answer, time.nowMs))
    },
    onRequest: (host, endpoint, life) => {
      if (endpoint === 'schedule.json' && !machine.leads(life)) strays.push({ atMs: time.nowMs, host })
    }
  })
  for (const name of nodes.keys()) network.links.set(name, { ...aLink(), chances: scenario.chances })
  const around = { seed, time, network, faults, witness, cancelWaitsSeconds: scenario.cancelWaitsSeconds }
  const pendingOrders = () => operators.pending
  const engines = enginesScenarioOf(seed, options.engines ?? 1, options.losesAnswers ?? false)
  const single = engines.engines > 1 ? null : aMachine()
  const cluster = single !== null ? null : aCluster()
  const machine: World = (single ?? cluster)!
  const chance = createChance(seed, 'story')
  const operators: Operators = new Operators({ scenario, time, machine, chance: createChance(seed, 'operators') })
  const nemesis = new Nemesis({
    scenario,
    time,
    machine,
    network,
    nodes,
    faults,
    chance: createChance(seed, 'nemesis')
  })
  const ofEngines =
    cluster === null
      ? null
      : new EngineNemesis({
          scenario: engines,
          time,
          cluster,
          network,
          faults,
          chance: createChance(seed, 'nemesis of engines'),
          also: createChance(seed, 'what goes with faults of engines')
        })
  let callsOfFirstLife: string[] = []
  try {
    await furnish(machine, scenario, witness)
    if (single === null) {
      cluster!.start()
      await time.runUntil(10_000, () => cluster!.isUp)
    } else {
      await startEngine(single, options.death ?? null)
    }
    callsOfFirstLife = machine.life!.calls
    operators.begin()
    nemesis.begin()
    ofEngines?.begin()
    keepSampling()
    await time.runUntil(scenario.activeMs, () => false)
    nemesis.stop()
    ofEngines?.stop()
    await time.runUntil(scenario.activeMs + 20_000, () => machine.isUp && operators.pending === 0)
    // Waits, because an engine that woke up, reconnected or was drained can still change which engine leads.
    if (cluster !== null) await time.runUntil(time.nowMs + SETTLES_MS, () => false)
    void operators.liftEverything()
    await time.runUntil(time.nowMs + 20_000, () => operators.pending === 0)
    let isQuiet = false
    // If our clock was set back, jobs that wait for a time of day wait longer by that amount.
    const limitMs = time.nowMs + QUIET_LIMIT_MS + STILL_MS + machine.setBackMs
    while (!isQuiet && time.nowMs < limitMs) {
      await time.runUntil(time.nowMs + 5_000, () => false)
      isQuiet = machine.isUp && (await nothingCanRun(machine.store, beliefs, time.nowMs))
    }
    const history = await tellHistory(isQuiet)
    return { history, callsOfFirstLife, traceHash: trace.digest('hex') }
  } catch (error) {
    if (!(error instanceof NeverAtRest)) throw error
    throw new Error(`${error.message}; its last calls: ${machine.life?.calls.slice(-4).join(', ')}`, { cause: error })
  } finally {
    machine.life?.end()
    await machine.bury()
    machine.disk.remove()
  }

  function aMachine(): Machine {
    const restartIn = (delayMs: number) => {
      time.after(delayMs, () => {
        // Opening a database is the only work that virtual time cannot see, so the heap waits for it.
        time.busy += 1
        void startEngine(one, null).finally(() => {
          time.busy -= 1
        })
      })
    }
    const onKilled = () => restartIn(chance.between(...RESTART_AFTER_MS))
    const one: Machine = new Machine({ ...around, onKilled, restartIn, pendingOrders }, options)
    return one
  }

  async function startEngine(one: Machine, death: Death | null): Promise<void> {
    await one.bury()
    beliefs.push({ atMs: time.nowMs, kind: 'life' })
    await one.start(death)
  }

  function aCluster(): Cluster {
    const onLead = () => {
      lists = newLists()
      beliefs.push({ atMs: time.nowMs, kind: 'life' })
    }
    return new Cluster({ ...around, engines: engines.engines, onLead, pendingOrders }, options)
  }

  function keepSampling(): void {
    time.after(SAMPLE_EVERY_MS, () => {
      void sample()
      if (time.nowMs < scenario.activeMs) keepSampling()
    })
  }

  async function sample(): Promise<void> {
    const { client, life } = machine
    if (client === null) return
    try {
      const { jobs } = await client.jobs.list({ status: ['queued'], limit: 500 })
      if (life?.isOver !== false) return
      samples.push({ atMs: time.nowMs, queued: jobs.map(({ id, waiting, hold }) => ({ id, waiting, hold })) })
    } catch {
      // The engine is stopping.
    }
  }

  async function tellHistory(isQuiet: boolean): Promise<History> {
    const { client, store } = machine
    const asked = Promise.all([
      client?.jobs.list({ status: ['queued'], limit: 500 }),
      client?.nodes.list(),
      client?.system.status(),
      client === null ? null : firstBatch(client)
    ])
    await time.settle()
    const [queued, fleet, status, lanesTold] = await asked
    const jobs = await store.listJobs({}, { before: null, limit: 10_000 })
    const attempts = new Map<string, Attempt[]>()
    const timelines: History['timelines'] = new Map()
    for (const { id } of jobs) {
      attempts.set(id, await store.listAttempts(id))
      timelines.set(id, await store.listTimeline(id))
    }
    const lanesQueued = (await store.listLanes()).length
    const fleetRows = await store.listNodes()
    const wallMs = machine.ownWallMs
    let isStopped = false
    const stopped = machine.stop().then(() => (isStopped = true))
    await time.runUntil(time.nowMs + 10_000, () => isStopped)
    await stopped
    return {
      scenario,
      operations: operators.operations,
      beliefs,
      samples,
      faults: faults.list,
      strays,
      engines: engines.engines,
      accepted: [...nodes.values()].flatMap((node) => node.accepted),
      started: [...nodes.values()].flatMap((node) => node.started),
      hosts,
      jobs,
      nodes: fleetRows,
      stuckForEver: nemesis.stuckForEver,
      attempts,
      timelines,
      end: {
        atMs: time.nowMs,
        wallMs,
        isQuiet,
        waiting: new Map((queued?.jobs ?? []).map((job) => [job.id, job.waiting])),
        runsShown: (fleet?.nodes ?? []).reduce(
          (sum, node) => sum + node.runs.filter(({ jobId }) => jobId !== null).length,
          0
        ),
        slotsUsed: status?.figures.slotsUsed ?? 0,
        lanesTold: lanesTold ?? 0,
        lanesQueued,
        timersLeft: machine.timersLeft,
        complaints: machine.complaints
      }
    }
  }
}

async function firstBatch(client: Client): Promise<number> {
  const stopping = new AbortController()
  const stream = await client.events.subscribe({ after: '0.0.0' }, { signal: stopping.signal })
  let lanes = 0
  for await (const batch of stream) {
    lanes += batch.changes.filter(({ kind }) => kind === 'waiting').length
    if (batch.changes.length > 0) break
  }
  stopping.abort()
  return lanes
}

function buildNodes(scenario: Scenario, time: VirtualTime, faults: Faults): Map<string, SimulatedScrapyd> {
  const nodes = new Map<string, SimulatedScrapyd>()
  for (const described of scenario.nodes) {
    const { name, version, maxProc, finishedToKeep, jobsToKeep, zoneMinutes, clockOffsetMs } = described
    const shared = described.sharesQueueWith === null ? undefined : nodes.get(described.sharesQueueWith)
    const queue: Run[] = shared?.queue ?? []
    const options = { name, version, maxProc, finishedToKeep, jobsToKeep, zoneMinutes, clockOffsetMs, queue }
    const node = new SimulatedScrapyd(options, time, createChance(scenario.seed, name))
    if (described.hasEggs) for (const project of Object.keys(SPIDERS)) node.eggs.set(project, new Set(['1', '2']))
    if (Math.abs(clockOffsetMs) > 60_000) faults.note('clock of a node is off', name, `${clockOffsetMs} ms`)
    if (shared !== undefined) faults.note('two nodes share a queue', name, `with ${shared.name}`)
    nodes.set(name, node)
  }
  return nodes
}

async function furnish(machine: World, scenario: Scenario, witness: (...call: [string, unknown[], unknown]) => void) {
  const store = await openSqliteStoreHere({
    path: machine.disk.databasePath,
    clock: systemClock,
    logger: silentLogger
  })
  const written: Promise<void>[] = []
  for (const [index, node] of scenario.nodes.entries()) {
    const stored: StoredNode = {
      id: aNodeId(node.name),
      name: node.name,
      kind: 'scrapyd',
      url: `http://${node.name}:6800/`,
      username: null,
      sealedPassword: null,
      caCertificate: null,
      slots: node.slots,
      tags: node.tags,
      mode: 'active',
      scrapydVersion: node.version,
      addedAtMs: 1_800_000_000_000 + index,
      queueAhead: node.queueAhead,
      giveUpAfterSeconds: node.giveUpAfterSeconds,
      logsKept: null,
      group: null,
      clientCertificate: null,
      sealedClientKey: null,
      sealedProxyUrl: null,
      kubernetes: null,
      sourceId: null,
      tokenHash: null
    }
    witness('putNode', [stored], null)
    written.push(store.putNode(stored))
  }
  for (const [project, spiders] of Object.entries(SPIDERS)) {
    for (const version of ['1', '2']) {
      const egg = Buffer.from(`egg of ${project} ${version}`)
      const sha256 = createHash('sha256').update(egg).digest('hex')
      machine.disk.putBlob(`eggs/${sha256}`, egg)
      const stored: StoredVersion = {
        project: aProjectName(project),
        version: aVersionName(version),
        sha256,
        sizeBytes: egg.length,
        spiders,
        createdAtMs: 1_800_000_000_000,
        deployments: []
      }
      written.push(store.putVersion(stored))
    }
  }
  await Promise.all(written)
  await store.close()
}

/** Whether nothing can change without a command. The checker judges the remaining queued jobs. */
async function nothingCanRun(store: Store, beliefs: Belief[], nowMs: number): Promise<boolean> {
  const { queued, starting, running } = await store.countByState()
  if (starting + running > 0) return false
  const last = beliefs.findLast(({ kind }) => kind === 'begun' || kind === 'changed')
  return queued === 0 || nowMs - (last?.atMs ?? 0) > STILL_MS
}

type Untimed = Belief extends infer One ? (One extends Belief ? Omit<One, 'atMs'> : never) : never

function beliefsIn(method: string, parameters: unknown[], answer: unknown): (Untimed & { host: string })[] {
  const found = (belief: Untimed, host = '') => [{ ...belief, host }]
  switch (method) {
    case 'beginAttempts':
      return (answer as Attempt[]).length === 0 ? [] : found({ kind: 'begun', attempts: answer as Attempt[] })
    case 'applyChanges':
      return (parameters[0] as AttemptChange[]).flatMap((change, index) =>
        (answer as boolean[])[index] === true
          ? found({
              kind: 'changed',
              jobId: change.jobId,
              number: change.attemptNumber,
              to: change.to ?? null,
              what: change.kind
            })
          : []
      )
    case 'applyChanges refused':
      return (parameters[0] as AttemptChange[])
        .filter(({ to }) => to === 'finishing')
        .flatMap(({ jobId, attemptNumber }) => found({ kind: 'over', jobId, number: attemptNumber }))
    case 'putNode': {
      const { id, slots, queueAhead, url, tags, mode } = parameters[0] as StoredNode
      return found({ kind: 'node', id, slots, queueAhead, tags, mode }, new URL(url).hostname)
    }
    case 'putLimits':
      return found({ kind: 'limits', rules: (parameters[0] as StoredLimits).rules })
    default:
      return []
  }
}

/**
 * Collects the lists of nodes. For a node that is polled project by project, a list is complete with the last
 * response.
 */
class ListsSeen {
  readonly #isAskedByProject: (host: string) => boolean
  readonly #begun = new Map<string, { left: number; jobids: string[]; finished: string[] }>()

  constructor(isAskedByProject: (host: string) => boolean) {
    this.#isAskedByProject = isAskedByProject
  }

  take(host: string, endpoint: string, answer: HttpAnswer, atMs: number): Belief[] {
    if (endpoint !== 'listjobs.json' && endpoint !== 'listprojects.json') return []
    const read = readObject(answer)
    if (endpoint === 'listprojects.json') {
      this.#begun.delete(host)
      const projects = read?.['projects']
      if (projects === undefined) return []
      // A node without projects is asked for no jobs, so the engine's list is complete, and empty.
      if (projects.length === 0) return [{ atMs, kind: 'listed', host, project: null, jobids: [], finished: [] }]
      this.#begun.set(host, { left: projects.length, jobids: [], finished: [] })
      return []
    }
    const { pending, running, finished: ended } = read ?? {}
    if (pending === undefined || running === undefined || ended === undefined) return []
    const jobids = [...pending, ...running].map((job) => (job as { id: string }).id)
    const finished = ended.map((job) => (job as { id: string }).id).filter((id) => !jobids.includes(id))
    if (!this.#isAskedByProject(host)) return [{ atMs, kind: 'listed', host, project: null, jobids, finished }]
    const begun = this.#begun.get(host)
    if (begun === undefined) return []
    begun.left -= 1
    begun.jobids.push(...jobids)
    begun.finished.push(...finished)
    if (begun.left > 0) return []
    this.#begun.delete(host)
    return [{ atMs, kind: 'listed', host, project: null, jobids: begun.jobids, finished: begun.finished }]
  }
}

/** Parses a response. null: the engine could not read it either. */
function readObject({ body }: HttpAnswer): Record<string, unknown[]> | null {
  try {
    return JSON.parse(Buffer.from(body).toString()) as Record<string, unknown[]>
  } catch {
    return null
  }
}
