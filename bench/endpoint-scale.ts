import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChaosEngine } from '../e2e/chaos/engines.ts'
import { TEST_CREDENTIALS } from '../e2e/support/service.ts'
import { ensureServiceBuilt } from '../scripts/setup/build.mjs'
import { startRedis, whyNoRedis } from '../src/engine/cluster/cache/testing/start-redis.ts'
import { startPostgres, whyNoPostgres } from '../src/engine/storage/postgres/testing/start-postgres.ts'
import { freePort } from '../src/engine/testing/server-process.ts'
import { until } from '../src/engine/testing/until.ts'
import type { Figure } from './figure.ts'
import { round } from './figure.ts'
import { BenchProblem } from './support/bench-problem.ts'
import { machine } from './support/bench-engine.ts'
import { commandOf, readBusyMs, readCpu, readMainThread, whatBounds } from './support/cpu-shares.ts'
import { generateLoad, type Server } from './support/generate-load.ts'
import { median, progress } from './support/sides.ts'
import { startNginx, whyNoNginx } from './support/start-nginx.ts'
import { startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about = 'the Scrapyd API of two engines behind nginx beside one alone, with a shared cache and without'
export const needsSetup = true

const PROJECT = 'bench'
const CONNECTIONS = 32
const JOB_MS = 2_000
const SLOTS = 40
const SETTLE_MS = 5_000
const SERVERS = ['postgres', 'nginx', 'redis-server']

export const whyNot = (): string | null => whyNoPostgres() ?? whyNoRedis() ?? whyNoNginx()

interface Arrangement {
  name: 'alone' | 'alone_cached' | 'two' | 'two_cached'
  engines: ChaosEngine[]
  server: Server
}

interface Round {
  perSecond: number
  p99Ms: number
  cores: Record<string, number>
  loops: Record<string, number>
  busy: number
}

export const run = ([rounds = '5']: string[] = []) =>
  measure({
    rounds: Number(rounds),
    durationMs: 4_000,
    settleMs: SETTLE_MS,
    queued: 100,
    names: ['alone', 'alone_cached', 'two', 'two_cached']
  })

/**
 * All arrangements run during the whole bench and receive the load in rotation. Each one has a node and its own
 * namespace in one PostgreSQL, and in one Redis if it uses a cache. The load is typical of Scrapyd's clients; every
 * hundredth request queues a job, which then runs.
 */
export async function measure(options: {
  rounds: number
  durationMs: number
  settleMs: number
  queued: number
  names: Arrangement['name'][]
}): Promise<Figure[]> {
  const problem = whyNot()
  if (problem !== null) throw new BenchProblem(`This needs PostgreSQL, Redis and nginx: ${problem}.`)
  await ensureServiceBuilt()
  await using opened = new AsyncDisposableStack()
  const { rounds, durationMs, settleMs, queued, names } = options
  const arrangements = await openArrangements(names, opened)
  await Promise.all(
    arrangements.map(async ({ engines }) => {
      const jobs = Array.from({ length: queued }, () => ({ project: PROJECT, spider: 'noop' }))
      const { client } = engines[0]!.service
      // The engine knows the project only after it has read the node's projects.
      const queue = () =>
        client.jobs.runMany({ jobs }).then(
          () => true,
          () => false
        )
      await until('jobs in the queue', queue)
    })
  )
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  // The first round warms up code and connections, and its results are discarded.
  for (const one of arrangements) await measureOne(one, durationMs / 2)
  const results = new Map<string, Round[]>(names.map((name) => [name, []]))
  for (let count = 1; count <= rounds; count += 1)
    for (const one of arrangements) {
      const result = await measureOne(one, durationMs)
      results.get(one.name)!.push(result)
      const { perSecond, loops, cores } = result
      progress(`${one.name} ${count}/${rounds}: ${Math.round(perSecond)}/s; cores ${inWords({ ...cores, ...loops })}`)
    }
  const conditions = {
    rounds,
    round_ms: durationMs,
    connections: CONNECTIONS,
    mix: '50 daemonstatus, 25 listjobs, 25 listprojects; 1 in 100 schedule',
    ...machine()
  }
  const rates = new Map(names.map((name) => [name, median(results.get(name)!.map(({ perSecond }) => perSecond))]))
  const ratio = (figure: string, over: Arrangement['name'], under: Arrangement['name']): Figure[] => {
    const pairs = (results.get(over) ?? []).flatMap((one, index) => {
      const other = results.get(under)?.[index]
      return other === undefined ? [] : [one.perSecond / other.perSecond]
    })
    return pairs.length === 0 ? [] : [{ figure, value: round(median(pairs)), unit: 'times', conditions }]
  }
  return [
    ...ratio('engines_ratio', 'two', 'alone'),
    ...ratio('engines_cached_ratio', 'two_cached', 'alone_cached'),
    ...ratio('cache_ratio', 'two_cached', 'two'),
    ...ratio('cache_alone_ratio', 'alone_cached', 'alone'),
    ...names.flatMap((name) => {
      const all = results.get(name)!
      const cores = averageOf(all.map((one) => one.cores))
      const loops = averageOf(all.map((one) => one.loops))
      const used = Object.values(cores).reduce((sum, one) => sum + one, 0)
      const shares = Object.fromEntries(Object.entries(cores).map(([who, share]) => [`${who}_cores`, round(share)]))
      const busy = all.reduce((sum, one) => sum + one.busy, 0) / all.length
      const bound = whatBounds({ loops, used, busy, cores: cpus().length })
      const own = { ...conditions, ...shares, bound }
      // The CPU time per request, which is more meaningful than the rate while other programs use the machine.
      const servers = used - (cores['generator'] ?? 0) - (cores['others'] ?? 0)
      const rate = all.reduce((sum, one) => sum + one.perSecond, 0) / all.length
      return [
        { figure: `${name}_per_s`, value: round(rates.get(name)!), unit: 'requests/s', conditions: own },
        { figure: `${name}_cpu_ms`, value: round((servers * 1_000) / rate), unit: 'ms', conditions },
        { figure: `${name}_p99_ms`, value: round(median(all.map(({ p99Ms }) => p99Ms))), unit: 'ms', conditions }
      ]
    })
  ]
}

async function openArrangements(
  names: readonly Arrangement['name'][],
  opened: AsyncDisposableStack
): Promise<Arrangement[]> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-endpoint-scale-'))
  opened.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  const database = await startPostgres()
  opened.defer(() => database.stop())
  const redis = await startRedis(['--maxmemory', '100mb', '--maxmemory-policy', 'volatile-ttl'])
  opened.defer(() => redis.stop())
  const fleet = await startSimulatedFleet({ nodes: names.length, slots: SLOTS, jobMs: JOB_MS, projects: [PROJECT] })
  opened.defer(() => fleet.stop())
  const started: (Pick<Arrangement, 'name' | 'engines'> & { port: number })[] = []
  for (const [index, name] of names.entries()) {
    const engines: ChaosEngine[] = []
    const port = await freePort()
    for (const member of name.startsWith('two') ? ['north', 'south'] : ['north']) {
      const engine = await ChaosEngine.start({
        name: member,
        dataDirectory: join(directory, name, member),
        blobs: join(directory, name, 'blobs'),
        keyFrom: member === 'north' ? null : join(directory, name, 'north'),
        database: `${database.url}?namespace=scale_${name}`,
        entry: 'out/service/scrapdeck.js',
        environment: {
          SCRAPDECK_TRUSTED_PROXIES: '127.0.0.1',
          SCRAPDECK_ALLOWED_HOST: `127.0.0.1:${port}`,
          ...(name.endsWith('cached') ? { SCRAPDECK_CACHE: `${redis.url}/0?namespace=scale_${name}` } : {})
        }
      })
      opened.defer(() => engine.service.kill())
      engines.push(engine)
    }
    const { client } = engines[0]!.service
    const node = await client.nodes.add({ url: fleet.urls[index]!, name: 'simulated', slots: SLOTS })
    await until(
      'the node',
      async () => (await client.nodes.list()).nodes.find(({ id }) => id === node.id)?.health === 'up'
    )
    started.push({ name, engines, port })
  }
  const behind = started.filter(({ engines }) => engines.length > 1)
  const groups = behind.map(({ port, engines }) => ({
    port,
    addresses: engines.map(({ service }) => service.address)
  }))
  const nginx = groups.length === 0 ? null : await startNginx(groups)
  opened.defer(() => nginx?.stop())
  return started.map(({ port, ...one }) => {
    const isBehind = one.engines.length > 1
    const url = isBehind ? `http://127.0.0.1:${port}/` : `${one.engines[0]!.service.address}/`
    return { ...one, server: { url, credentials: TEST_CREDENTIALS, project: PROJECT, spider: 'noop' } }
  })
}

async function measureOne({ engines, server }: Arrangement, durationMs: number): Promise<Round> {
  const roles = new Map<number, string>()
  for (const engine of engines)
    roles.set(engine.service.pid()!, (await engine.leads()) === true ? 'leader' : 'follower')
  // The CPU time of the idle engines of the other arrangements is counted as `others`.
  const nameOf = ({ pid, name }: { pid: number; name: string }) =>
    roles.get(pid) ??
    SERVERS.find((one) => name.startsWith(one)) ??
    (commandOf(pid).includes('simulated-fleet') ? 'nodes' : 'others')
  const loopsNow = () => new Map([...roles].map(([pid, role]) => [`the ${role}`, readMainThread(pid)]))
  const before = { cpu: readCpu(nameOf), loops: loopsNow(), busyMs: readBusyMs() }
  const result = await generateLoad(server, 'typical', { connections: CONNECTIONS, until: { durationMs } })
  const after = { cpu: readCpu(nameOf), loops: loopsNow(), busyMs: readBusyMs() }
  if (result.error !== null) throw new Error(`${server.url}: ${result.errors} errors; the first: ${result.error}`)
  // Divides by the duration of the load alone, because the generator also takes a moment to start and exit.
  const shareOf = (now: ReadonlyMap<string, number>, then: ReadonlyMap<string, number>) =>
    Object.fromEntries([...now].map(([name, ms]) => [name, (ms - (then.get(name) ?? 0)) / 1_000 / result.seconds]))
  const generator = result.cpuMs / 1_000 / result.seconds
  return {
    perSecond: result.requests / result.seconds,
    p99Ms: result.p99Ms,
    cores: { generator, ...shareOf(after.cpu, before.cpu) },
    loops: { ...shareOf(after.loops, before.loops), 'the load generator': generator },
    busy: (after.busyMs - before.busyMs) / 1_000 / result.seconds
  }
}

const inWords = (shares: Readonly<Record<string, number>>) =>
  Object.entries(shares)
    .map(([name, share]) => `${name} ${share.toFixed(2)}`)
    .join(', ')

function averageOf(all: readonly Record<string, number>[]): Record<string, number> {
  const names = new Set(all.flatMap((one) => Object.keys(one)))
  return Object.fromEntries(
    [...names].map((name) => [name, all.reduce((sum, one) => sum + (one[name] ?? 0), 0) / all.length])
  )
}
