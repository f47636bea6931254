import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChaosEngine } from '../e2e/chaos/engines.ts'
import { ensureServiceBuilt } from '../scripts/setup/build.mjs'
import { startPostgres } from '../src/engine/storage/postgres/testing/start-postgres.ts'
import { until } from '../src/engine/testing/until.ts'
import { ScheduleSettings } from '../src/shared/contract/index.ts'
import type { Figure, Goal } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { type CuttableProxy, startCuttableProxy } from './support/cuttable-proxy.ts'
import { median, progress } from './support/sides.ts'
import { startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about = 'another engine leads: from the end of the leader to the next job sent, and the next firing'
export const needsSetup = true

const PROJECT = 'bench'
const SLOTS = 10
/** The duration of a job. Many jobs end per second, so only a gap in leadership can cause a gap between two POSTs. */
const JOB_MS = 200
const STALL_MS = 12_000

type Way = 'killed' | 'stalled' | 'cut_off'
const WAYS: Record<Way, Goal> = { killed: { atMost: 1_500 }, stalled: { atMost: 7_000 }, cut_off: { atMost: 7_000 } }

export const run = ([rounds = '3']: string[] = []) => measure({ rounds: Number(rounds), settleMs: 5_000 })

export async function measure({ rounds, settleMs }: { rounds: number; settleMs: number }): Promise<Figure[]> {
  await ensureServiceBuilt()
  await using opened = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-failover-'))
  opened.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  const database = await startPostgres()
  opened.defer(() => database.stop())
  const fleet = await startSimulatedFleet({ nodes: 1, slots: SLOTS, jobMs: JOB_MS, projects: [PROJECT], report: true })
  opened.defer(() => fleet.stop())
  const posts: number[] = []
  fleet.onPost(() => posts.push(Date.now()))
  const engines: { engine: ChaosEngine; proxy: CuttableProxy }[] = []
  for (const name of ['north', 'south']) {
    const url = new URL(database.url)
    const proxy = await startCuttableProxy(Number(url.port))
    opened.defer(() => proxy.stop())
    url.port = String(proxy.port)
    const engine = await ChaosEngine.start({
      name,
      dataDirectory: join(directory, name),
      blobs: join(directory, 'blobs'),
      database: url.href,
      keyFrom: name === 'north' ? null : join(directory, 'north'),
      entry: 'out/service/scrapdeck.js'
    })
    opened.defer(() => engine.service.kill())
    engines.push({ engine, proxy })
  }
  const { client } = engines[0]!.engine.service
  await client.nodes.add({ url: fleet.urls[0]!, name: 'simulated', slots: SLOTS })
  const { schedule } = await client.schedules.create(
    ScheduleSettings.parse({
      name: 'each second',
      zone: 'UTC',
      rules: [{ kind: 'interval', everySeconds: 1, anchorMs: 0 }],
      jobs: [{ project: PROJECT, spiders: ['noop'], priority: 1 }],
      overlap: 'allow',
      catchUp: 'all'
    })
  )
  const figures: Figure[] = []
  for (const [way, goal] of Object.entries(WAYS) as [Way, Goal][]) {
    const took: Took[] = []
    for (let round = 1; round <= rounds; round += 1) {
      took.push(await strike(way))
      progress(`failover ${way} ${round}/${rounds}: ${JSON.stringify(took.at(-1))}`)
    }
    const of = (what: keyof Took) => Math.round(median(took.map((one) => one[what])))
    const conditions = {
      rounds,
      most_ms: Math.max(...took.map(({ dispatchMs }) => dispatchMs)),
      // The stages: until an engine takes the lease, then until it responds, then until the POST.
      detected_ms: of('detectedMs'),
      opened_ms: of('openedMs'),
      ...machine()
    }
    figures.push(
      { figure: `${way}_next_dispatch_ms`, value: of('dispatchMs'), unit: 'ms', goal, conditions },
      { figure: `${way}_next_firing_ms`, value: of('firingMs'), unit: 'ms', goal, conditions }
    )
  }
  return figures

  async function strike(way: Way): Promise<Took> {
    const [former, next] = await leaderAndFollower()
    const lead = engines[former]!
    const other = engines[next]!.engine
    await lead.engine.service.client.jobs.runMany({
      jobs: Array.from({ length: 1_500 }, () => ({ project: PROJECT, spider: 'noop' }))
    })
    // Waits, because a follower believes that the leader's lock is free only after its own connection has been up for a
    // while.
    await wait(settleMs)
    const logged = other.service.output().length
    const atMs = Date.now()
    if (way === 'killed') lead.engine.signal('SIGKILL')
    else if (way === 'stalled') lead.engine.signal('SIGSTOP')
    else lead.proxy.cut()
    // Ignores the first half second, because requests that were in progress still arrive.
    const firstAfter = () => posts.find((one) => one > atMs + 500) ?? null
    const postAtMs = (await until(
      'the next POST',
      async () => firstAfter(),
      (one) => one !== null,
      60_000
    ))!
    const openedAtMs = await until(
      'an answer',
      async () => ((await other.leads()) === true ? Date.now() : null),
      (one) => one !== null,
      60_000
    )
    const firing = await until(
      'the next firing',
      async () => {
        const { firings } = await other.service.client.schedules.firings({ scheduleId: schedule.id, limit: 100 })
        return firings.findLast((one) => one.atMs > atMs + 500) ?? null
      },
      (one) => one !== null,
      60_000
    )
    const leads = /"time":(\d+)[^\n]*"This engine leads"|"msg":"This engine leads"[^\n]*"time":(\d+)/.exec(
      other.service.output().slice(logged)
    )
    const detectedAtMs = Number(leads?.[1] ?? leads?.[2] ?? openedAtMs)
    if (way === 'killed') await lead.engine.service.kill().then(() => lead.engine.service.start())
    else {
      await wait(STALL_MS - (Date.now() - atMs))
      if (way === 'stalled') lead.engine.signal('SIGCONT')
      else lead.proxy.heal()
    }
    await until(
      'the former leader to follow',
      () => lead.engine.leads(),
      (one) => one === false,
      60_000
    ).catch(() => lead.engine.service.kill().then(() => lead.engine.service.start()))
    return {
      dispatchMs: postAtMs - atMs,
      firingMs: firing!.atMs - atMs,
      detectedMs: detectedAtMs - atMs,
      openedMs: Math.max(0, postAtMs - detectedAtMs)
    }
  }

  async function leaderAndFollower(): Promise<[number, number]> {
    const leads = await until(
      'one leader and one follower',
      () => Promise.all(engines.map(({ engine }) => engine.leads())),
      (all) => all.includes(true) && all.includes(false),
      60_000
    )
    return leads[0] === true ? [0, 1] : [1, 0]
  }
}

interface Took {
  dispatchMs: number
  firingMs: number
  detectedMs: number
  openedMs: number
}

const wait = (forMs: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, forMs)))
