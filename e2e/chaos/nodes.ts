import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../../src/engine/runtime/random.ts'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { type Scrapyd, startScrapydFleet } from '../support/scrapyd-fleet.ts'
import { FAULT_KINDS, type FaultKind, FaultProxy } from './fault-proxy.ts'
import type { NodeDeath } from './judge.ts'
import { between, type ChaosOptions, drawFaults, type PlannedNodeKill } from './plan.ts'
import type { Run } from './truth.ts'

export interface FaultCount {
  periods: number
  /** The number of periods in which the fault affected a connection. */
  met: number
  connections: number
}

export interface ChaosNode {
  name: string
  version: string
  scrapyd: Scrapyd
  proxy: FaultProxy
  /** When jobs were sent to the node (performance.now). */
  sentAtMs: number[]
}

export async function startNodes(options: ChaosOptions, truthFile: string, random: Random): Promise<ChaosNode[]> {
  const installed = readTestEnvironment().scrapyd
  const scrapyds = await startScrapydFleet(
    options.versions.map((version, index) => ({
      version,
      // More than the slots that Scrapdeck knows of, so that the runs' own records show if Scrapdeck sends too many
      // jobs.
      maxProc: options.slotsPerNode * 2,
      pollIntervalSeconds: options.pollIntervalSeconds,
      // At ten jobs per second, Scrapyd's default of 5 would remove the logs of running jobs.
      configuration: { runner: 'chaos_runner', jobs_to_keep: 300 },
      environment: {
        PYTHONPATH: [import.meta.dirname, installed[version]?.pythonPath].filter(Boolean).join(':'),
        PYTHONDONTWRITEBYTECODE: '1',
        CHAOS_TRUTH: truthFile,
        CHAOS_NODE: nameOf(index)
      }
    }))
  )
  return Promise.all(
    scrapyds.map(async (scrapyd, index) => {
      const sentAtMs: number[] = []
      const proxy = new FaultProxy({
        targetPort: scrapyd.port,
        random,
        onRequest: (line) => {
          if (line.startsWith('POST /schedule.json')) sentAtMs.push(performance.now())
        }
      })
      await proxy.start()
      return { name: nameOf(index), version: scrapyd.version, scrapyd, proxy, sentAtMs }
    })
  )
}

export async function stopNodes(nodes: ChaosNode[]): Promise<void> {
  await Promise.all(nodes.flatMap(({ scrapyd, proxy }) => [scrapyd.stop(), proxy.stop()]))
}

function nameOf(index: number): string {
  return `node-${index + 1}`
}

export function noFaults(): Record<FaultKind, FaultCount> {
  const none = () => ({ periods: 0, met: 0, connections: 0 })
  return Object.fromEntries(FAULT_KINDS.map((kind) => [kind, none()])) as Record<FaultKind, FaultCount>
}

export async function makeWeather(
  { proxy }: ChaosNode,
  options: ChaosOptions,
  random: Random,
  counts: Record<FaultKind, FaultCount>,
  signal: AbortSignal
): Promise<void> {
  for (const { fault, forMs } of drawFaults(random, options.weatherSeconds)) {
    await pause(between(random, 0.25, 1.75) * options.calmSeconds * 1000, signal)
    if (signal.aborted) break
    await proxy.apply(fault)
    await pause(forMs, signal)
    counts[fault.kind].periods += 1
    counts[fault.kind].met += proxy.hits > 0 ? 1 : 0
    counts[fault.kind].connections += proxy.hits
    await proxy.clear()
  }
  await proxy.clear()
}

/**
 * Kills the node, waits, and restarts it in the same directory. Resolves to the time at which the node responds again
 * (performance.now).
 */
export async function killNode(node: ChaosNode, kill: PlannedNodeKill, deaths: NodeDeath[]): Promise<number> {
  deaths.push({ node: node.name, atMs: Date.now(), withSpiders: kill.withSpiders })
  await node.proxy.setNodeAway(true)
  await node.scrapyd.kill({ withSpiders: kill.withSpiders })
  await delay(kill.awayMs)
  await node.scrapyd.restart()
  await node.proxy.setNodeAway(false)
  return performance.now()
}

export async function pause(forMs: number, signal: AbortSignal): Promise<void> {
  await delay(forMs, undefined, { signal }).catch(() => {})
}

export function isAtWork(run: Run, deaths: NodeDeath[]): boolean {
  if (run.endedAtMs !== null) return false
  return !deaths.some(({ node, atMs, withSpiders }) => withSpiders && node === run.node && atMs >= run.beganAtMs)
}
