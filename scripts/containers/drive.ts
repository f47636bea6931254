/**
 * A client of a Scrapdeck in containers. It is a separate process, because it runs in their network:
 *   SCRAPDECK_PASSWORD=… node drive.ts ADDRESS NODES
 * Follows a log as server-sent events, because a proxy that buffers responses would hold them back until the run
 * ends.
 */
import { connectClient } from '../../e2e/support/service.ts'
import { basicAuthorization } from '../../e2e/support/basic-authorization.ts'
import { until } from '../../src/engine/testing/until.ts'
import { runDemoJobs } from '../demo-jobs.ts'

const NODES_LIMIT_MS = 90_000
/** Slow enough that a client sees its first lines well before its end, even on a busy machine. */
const SLOW = { pages: '8', delay: '1.5' }

const [address = '', nodeCount = '1'] = process.argv.slice(2)
const credentials = { username: 'scrapdeck', password: process.env['SCRAPDECK_PASSWORD'] ?? '' }
const client = connectClient(address, credentials)

await until(
  `${nodeCount} nodes that respond`,
  async () => (await client.nodes.list()).nodes.map(({ name, health }) => `${name} ${health}`),
  (nodes) => nodes.filter((node) => node.endsWith(' up')).length === Number(nodeCount),
  NODES_LIMIT_MS
)
console.log(`✓ ${nodeCount} nodes respond`)
const isRight = await runDemoJobs(client)
const isStreamed = await followsLive()
process.exit(isRight && isStreamed ? 0 : 1)

async function followsLive(): Promise<boolean> {
  const { jobs } = await client.jobs.run({ project: 'demo', spiders: ['quotes'], args: SLOW })
  const id = jobs[0]!.id
  const response = await fetch(`${address}/api/v1/jobs/${id}/logs`, {
    headers: { authorization: basicAuthorization(credentials), accept: 'text/event-stream' },
    signal: AbortSignal.timeout(NODES_LIMIT_MS)
  })
  if (!response.ok || response.body === null) throw new Error(`The log answers ${response.status}`)
  let firstAtMs: number | null = null
  let text = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (firstAtMs === null && /^event: log$/m.test(text)) firstAtMs = performance.now()
    if (/^event: end$/m.test(text)) break
  }
  const aheadMs = firstAtMs === null ? 0 : performance.now() - firstAtMs
  const isLive = aheadMs > 3_000
  console.log(
    `${isLive ? '✓' : '✗'} The log was streamed: its first line came ${(aheadMs / 1000).toFixed(1)} s before its end`
  )
  return isLive
}
