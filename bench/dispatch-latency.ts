import { systemClock } from '../src/engine/runtime/clock.ts'
import { silentLogger } from '../src/engine/runtime/logger.ts'
import type { PostgresAddress } from '../src/engine/runtime/postgres-address.ts'
import type { NodeClient } from '../src/engine/nodes/node-client.ts'
import { createScrapydClient } from '../src/engine/nodes/scrapyd/scrapyd-client.ts'
import type { Conditions, Figure } from './figure.ts'
import { machine, percentile } from './support/bench-engine.ts'
import { until } from '../src/engine/testing/until.ts'
import { type BusyEngine, startBusyEngine, watchChanges } from './support/busy-engine.ts'
import { PROJECTS } from './support/seed-busy-database.ts'
import { startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about =
  'a slot is seen to be free while a million jobs wait: how long until the POST of the next job goes out'

export interface Size {
  nodes: number
  slots: number
  queued: number
  lanes: number
  /** The shortest and the longest run time. Run times are distributed uniformly between them. */
  jobMs: [number, number]
  measureMs: number
  old?: number
}

export const FULL: Size = {
  nodes: 1_000,
  slots: 16,
  queued: 1_000_000,
  lanes: 2_000,
  jobMs: [20_000, 300_000],
  measureMs: 30_000
}

/** `while-deleting [JOBS [SECONDS [NODES]]]` measures while the engine deletes old jobs, a million by default. */
export async function run(words: string[] = []): Promise<Figure[]> {
  const [word, old = '1000000', seconds = '30', nodes = '1000'] = words
  if (word !== 'while-deleting') return measure(FULL)
  const part = Number(nodes) / FULL.nodes
  const size = {
    ...FULL,
    measureMs: Number(seconds) * 1_000,
    nodes: Number(nodes),
    // Scales queue, lanes and run times with the fleet. With shorter runs, a smaller fleet frees as many slots per
    // second.
    queued: FULL.queued * part,
    lanes: FULL.lanes * part,
    jobMs: FULL.jobMs.map((ms) => ms * part) as [number, number]
  }
  const without = await measure(size)
  const meanwhile = await measure({ ...size, old: Number(old) })
  const ratios = without.map(({ figure, value }, index): Figure => {
    const { conditions, value: slower } = meanwhile[index]!
    return { figure: `${figure}_ratio_while_deleting`, value: round(slower / value), unit: 'times', conditions }
  })
  return [...without, ...meanwhile.map((one) => ({ ...one, figure: `${one.figure}_while_deleting` })), ...ratios]
}

/**
 * All slots are busy, so each POST uses a slot that has just become free. Measures the time from when the engine
 * detects the end of a run until it passes the next job's request to the node's client, including the state change,
 * the plan, the claim and two commits.
 */
export async function measure(size: Size, postgres?: PostgresAddress): Promise<Figure[]> {
  const freed = new Map<string, Freed[]>()
  const took: Freed[] = []
  let isMeasuring = false
  const nodeOfJob = new Map<string, string>()
  const fleet = await startSimulatedFleet({ ...size, projects: PROJECTS })

  function watched(nodeId: string, client: NodeClient): NodeClient {
    return {
      ...client,
      schedule(request, signal) {
        const slot = freed.get(nodeId)?.shift()
        if (isMeasuring && slot !== undefined) took.push({ ...slot, sentAtMs: performance.now() })
        nodeOfJob.set(request.jobid, nodeId)
        return client.schedule(request, signal)
      }
    }
  }

  const accepted = new Set<string>()
  const engine = await startBusyEngine({
    fleet,
    ...size,
    postgres,
    watch: (store) => {
      const counted = watchChanges(store, ({ jobId, to }) => {
        if (!isMeasuring && (to === 'accepted' || to === 'running')) accepted.add(jobId)
      })
      return {
        ...counted,
        async applyChanges(changes) {
          const slots: Freed[] = []
          for (const { jobId, to } of changes) {
            const nodeId = nodeOfJob.get(jobId)
            if (to !== 'finishing' || nodeId === undefined) continue
            nodeOfJob.delete(jobId)
            const slot: Freed = { atMs: performance.now() }
            slots.push(slot)
            freed.set(nodeId, [...(freed.get(nodeId) ?? []), slot])
          }
          const applied = await counted.applyChanges(changes)
          for (const slot of slots) slot.committedAtMs = performance.now()
          return applied
        },
        async beginAttempts(starts) {
          const slots = starts.map(({ nodeId }) => freed.get(nodeId)?.find((slot) => slot.plannedAtMs === undefined))
          for (const slot of slots) if (slot !== undefined) slot.plannedAtMs = performance.now()
          const begun = await counted.beginAttempts(starts)
          for (const slot of slots) if (slot !== undefined) slot.claimedAtMs = performance.now()
          return begun
        }
      }
    },
    createNodeClient: ({ id, name, url }) =>
      watched(
        id,
        createScrapydClient({
          name,
          url,
          username: null,
          password: null,
          caCertificate: null,
          clock: systemClock,
          logger: silentLogger
        })
      )
  })
  try {
    await engine.client.system.setPaused({ paused: false })
    await until('all slots busy', async () => accepted.size >= size.nodes * size.slots, Boolean, 600_000)
    if (size.old !== undefined) await startDeleting(engine.client)
    freed.clear()
    isMeasuring = true
    const before = process.cpuUsage()
    await new Promise((resolve) => setTimeout(resolve, size.measureMs))
    isMeasuring = false
    const used = process.cpuUsage(before)
    const { nodes, slots, queued, lanes, old } = size
    const { retention } = await engine.client.storage.usage()
    const isStillDeleting = retention.state === 'running' ? 1 : 0
    const deleting: Conditions =
      old === undefined ? {} : { old, deleted: retention.jobs, is_still_deleting: isStillDeleting }
    const conditions = {
      nodes,
      slots_per_node: slots,
      queued,
      lanes,
      freed: took.length,
      freed_per_s: Math.round(took.length / (size.measureMs / 1_000)),
      ...deleting,
      core_share: round((used.user + used.system) / 1_000 / size.measureMs),
      ...stagesOf(took),
      synchronous: 'FULL',
      ...machine()
    }
    const tookMs = took.map(({ atMs, sentAtMs }) => sentAtMs! - atMs)
    return [
      { figure: 'p50_ms', value: round(percentile(tookMs, 0.5)), unit: 'ms', conditions },
      { figure: 'p99_ms', value: round(percentile(tookMs, 0.99)), unit: 'ms', conditions }
    ]
  } finally {
    await engine.stop()
    fleet.stop()
  }
}

interface Freed {
  atMs: number
  committedAtMs?: number
  plannedAtMs?: number
  claimedAtMs?: number
  sentAtMs?: number
}

function stagesOf(took: Freed[]): Conditions {
  const stages = { commit: 'committedAtMs', plan: 'plannedAtMs', claim: 'claimedAtMs', send: 'sentAtMs' } as const
  let before: keyof Freed = 'atMs'
  const conditions: Conditions = {}
  for (const [name, after] of Object.entries(stages)) {
    const ms = took.flatMap((slot) => {
      const [from, to] = [slot[before], slot[after]]
      return from === undefined || to === undefined ? [] : [to - from]
    })
    conditions[`${name}_ms`] = `${round(percentile(ms, 0.5))} / ${round(percentile(ms, 0.99))}`
    before = after
  }
  return conditions
}

async function startDeleting(client: BusyEngine['client']): Promise<void> {
  const { revision, policy } = await client.storage.policy()
  const jobs = { days: 2, perSpider: null, bytes: null }
  await client.storage.setPolicy({ revision, policy: { ...policy, defaults: { ...policy.defaults, jobs } } })
}

const round = (value: number) => Math.round(value * 100) / 100
