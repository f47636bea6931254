/**
 * An engine in its own process that sends the queue of a database from seedBusyDatabase. It measures what each
 * message requests, then replies.
 *
 * fork('collecting-engine.ts', [dataDirectory])
 */
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { keepHeapSmall } from '../../src/cli/keep-heap-small.ts'
import { createEngine } from '../../src/engine/index.ts'
import { createScrapydClient, type ScrapydClient } from '../../src/engine/nodes/scrapyd/scrapyd-client.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { OWNER } from '../../src/engine/access/principal.ts'
import type { StoredNode } from '../../src/engine/model/records.ts'

export interface CollectingOrder {
  hasLogs: boolean
  measureMs: number
}

export interface Collected {
  running: number
  cpuMs: number
  tookMs: number
  requests: number
  bytes: number
  agesMs: number[]
}

const DIRECT = { username: null, password: null, caCertificate: null, clientCertificate: null, clientKey: null }

keepHeapSmall()
let hasLogs = false
let requests = 0
let bytes = 0
/** For each run: the length of its log when it was last read to its end, and when that read started. */
const ends = new Map<string, Map<number, number>>()
const engine = await createEngine({
  dataDirectory: process.argv[2]!,
  host: 'service',
  resourcesDirectory: join(import.meta.dirname, '..', '..', 'resources'),
  scrapdeckVersion: 'bench',
  localSlots: 0,
  seams: { createNodeClient: watchedClient }
})
const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
await client.system.setPaused({ paused: false })

process.on('message', (message: CollectingOrder | 'stop') => {
  if (message === 'stop') void engine.stop().then(() => process.exit())
  else void measure(message).then((collected) => process.send!(collected))
})
process.on('disconnect', () => process.exit())

function watchedClient({ name, url }: StoredNode): ScrapydClient {
  const inner = createScrapydClient({
    name,
    url,
    ...DIRECT,
    proxyUrl: null,
    clock: systemClock,
    logger: silentLogger
  })
  return {
    ...inner,
    async readLog(run, range, signal) {
      if (!hasLogs) return null
      const begunAtMs = performance.now()
      const read = await inner.readLog(run, range, signal)
      requests += 1
      if (read === null) return null
      bytes += read.bytes.length
      const endAt = read.offset + read.bytes.length
      if (endAt < read.sizeBytes) return read
      const known = ends.get(run.jobid) ?? new Map<number, number>()
      ends.set(run.jobid, known.set(endAt, begunAtMs))
      return read
    }
  }
}

async function measure({ hasLogs: wanted, measureMs }: CollectingOrder): Promise<Collected> {
  hasLogs = wanted
  requests = 0
  bytes = 0
  const begunAtMs = performance.now()
  const before = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, measureMs))
  const { user, system } = process.cpuUsage(before)
  const cost = { cpuMs: (user + system) / 1_000, tookMs: performance.now() - begunAtMs, requests, bytes }
  const running = (await client.system.status()).figures.running
  return { ...cost, running, agesMs: wanted ? await agesMs() : [] }
}

async function agesMs(): Promise<number[]> {
  const ages: number[] = []
  for (const [jobid, known] of ends) {
    const figures = await client.jobs.figures({ id: jobid as never }).catch(() => null)
    const asOfMs = known.get(figures?.bytes ?? -1)
    ages.push(asOfMs === undefined ? Number.POSITIVE_INFINITY : performance.now() - asOfMs)
  }
  return ages
}
