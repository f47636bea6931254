import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { compare, type Figure, round } from './figure.ts'
import { BareDatabase } from './support/bare-database.ts'
import { deployNoop, machine, percentile, startBenchEngine } from './support/bench-engine.ts'
import { until } from '../src/engine/testing/until.ts'
import { type SimulatedFleet, startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about = 'a job asked for while a slot is free: how long until its POST is at the node'

const NODES = 3
/**
 * The number of slots beyond the number of jobs. No job must wait for a slot, because the engine polls for ends only
 * every second.
 */
const SPARE_SLOTS = 100
const PAUSE_MS = 15

export const run = (): Promise<Figure[]> => measure({ jobs: 300 })

/**
 * Queues one job at a time through the contract while slots are free, as the UI does. Measures the time from the call
 * until the POST to schedule.json reaches the node (in another process). The bound is two bare transactions with the
 * same rows and one bare POST.
 */
export async function measure({ jobs }: { jobs: number }): Promise<Figure[]> {
  const slots = Math.ceil(jobs / NODES) + SPARE_SLOTS
  const fleet = await startSimulatedFleet({ nodes: NODES, slots, jobMs: 20, report: true })
  const { client, stop } = await startBenchEngine()
  const bare = await openBare(fleet)
  try {
    for (const url of fleet.urls) await client.nodes.add({ url, slots })
    const areUp = async () => (await client.nodes.list()).nodes.every(({ health }) => health === 'up')
    await until('all nodes up', areUp, Boolean, 60_000)
    await deployNoop(client)
    const arrival = arrivalsAt(fleet)
    const tookMs = { ours: [] as number[], bound: [] as number[] }
    for (let count = 0; count < jobs; count += 1) {
      const askedAtMs = nowMs()
      const answer = await client.jobs.run({ project: 'noop', version: '1', spiders: ['noop'] })
      tookMs.ours.push((await arrival(answer.jobs[0]!.id)) - askedAtMs)
      await pause()
      const bareAtMs = nowMs()
      const id = bare.queueAndBegin()
      const posted = bare.post(id)
      tookMs.bound.push((await arrival(id)) - bareAtMs)
      await posted
      await pause()
    }
    const conditions = { jobs, nodes: NODES, slots_per_node: slots, synchronous: 'FULL', ...machine() }
    const at = (of: number[], share: number) => percentile(of, share)
    return [
      ...compare(
        'p95',
        {
          ours: at(tookMs.ours, 0.95),
          bound: at(tookMs.bound, 0.95),
          unit: 'ms',
          boundIs: 'two bare transactions and a POST',
          wanted: { atMost: 3 }
        },
        conditions
      ),
      { figure: 'post_p50_ms', value: round(at(tookMs.ours, 0.5)), unit: 'ms', conditions },
      { figure: 'bound_p50_ms', value: round(at(tookMs.bound, 0.5)), unit: 'ms', conditions },
      { figure: 'post_max_ms', value: round(Math.max(...tookMs.ours)), unit: 'ms', conditions }
    ]
  } finally {
    await stop()
    await bare.close()
    fleet.stop()
  }
}

async function openBare(fleet: SimulatedFleet) {
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-bench-bare-'))
  const database = await BareDatabase.open(directory)
  const dispatcher = new Agent()
  return {
    queueAndBegin(): string {
      const id = database.newId()
      database.enqueue([{ id, project: 'noop', spider: 'noop' }])
      database.begin([id], 'bare')
      return id
    },
    async post(jobid: string): Promise<void> {
      const body = new URLSearchParams({ project: 'noop', spider: 'noop', jobid, _version: '1' }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const answer = await request(`${fleet.urls[0]!}schedule.json`, { method: 'POST', headers, body, dispatcher })
      await answer.body.json()
    },
    async close(): Promise<void> {
      database.close()
      await dispatcher.close()
      await rm(directory, { recursive: true, force: true })
    }
  }
}

function arrivalsAt(fleet: SimulatedFleet): (jobid: string) => Promise<number> {
  const arrived = new Map<string, number>()
  const waiting = new Map<string, (atMs: number) => void>()
  fleet.onPost(({ jobid, atMs }) => {
    arrived.set(jobid, atMs)
    waiting.get(jobid)?.(atMs)
  })
  return (jobid) =>
    new Promise((resolve) => {
      const atMs = arrived.get(jobid)
      if (atMs === undefined) waiting.set(jobid, resolve)
      else resolve(atMs)
    })
}

const nowMs = () => performance.timeOrigin + performance.now()
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
