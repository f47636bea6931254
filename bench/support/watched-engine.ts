/**
 * An engine in its own process. Each message is a measuring time in ms, followed by a reply with the figures.
 *
 * fork('watched-engine.ts', [dataDirectory])
 */
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createRouterClient } from '@orpc/server'
import { createEngine } from '../../src/engine/index.ts'
import { OWNER } from '../../src/engine/access/principal.ts'
import { keepHeapSmall } from '../../src/cli/keep-heap-small.ts'

export interface Watched {
  slotsTotal: number
  cpuMs: number
  tookMs: number
  rssMb: number
  loopP99Ms: number
}

const LOOP_RESOLUTION_MS = 1

keepHeapSmall()
const engine = await createEngine({
  dataDirectory: process.argv[2]!,
  host: 'service',
  resourcesDirectory: join(import.meta.dirname, '..', '..', 'resources'),
  scrapdeckVersion: 'bench',
  localSlots: 0
})
const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
const pause = (waitMs: number) => new Promise((resolve) => setTimeout(resolve, waitMs))

process.on('message', (message: { measureMs: number } | 'stop') => {
  if (message === 'stop') void engine.stop().then(() => process.exit())
  else void measure(message.measureMs).then((figures) => process.send!(figures))
})
process.on('disconnect', () => process.exit())

async function measure(measureMs: number): Promise<Watched> {
  const before = process.cpuUsage()
  const begunAtMs = performance.now()
  await pause(measureMs)
  const used = process.cpuUsage(before)
  const tookMs = performance.now() - begunAtMs
  const rssMb = process.memoryUsage.rss() / 2 ** 20
  // Measures the delay of the event loop separately, because sampling it every millisecond also costs CPU time.
  const histogram = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  histogram.enable()
  await pause(measureMs / 3)
  histogram.disable()
  return {
    slotsTotal: (await client.system.status()).figures.slotsTotal,
    cpuMs: (used.user + used.system) / 1_000,
    tookMs,
    rssMb,
    loopP99Ms: histogram.percentile(99) / 1e6 - LOOP_RESOLUTION_MS
  }
}
