import { Agent, request } from 'node:http'

/**
 * Queues jobs in bulk over HTTP, with several calls in flight, and reports how long all of them took.
 *
 * post-jobs.ts ADDRESS AUTHORIZATION CALLS IN_FLIGHT JOBS_PER_CALL
 */
const [address, authorization, ...numbers] = process.argv.slice(2) as [string, string, ...string[]]
const [calls, inFlight, jobsPerCall] = numbers.map(Number) as [number, number, number]
const jobs = Array.from({ length: jobsPerCall }, (_, number) => ({
  project: 'noop',
  version: '1',
  spider: 'noop',
  args: { url: `https://example.com/${number}` }
}))
const body = Buffer.from(JSON.stringify({ jobs }))
const agent = new Agent({ keepAlive: true })

function post(): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length, authorization }
    const asked = request(`${address}/api/v1/jobs/bulk`, { method: 'POST', headers, agent }, (answer) => {
      answer.resume().on('end', () => {
        if (answer.statusCode === 200) resolve()
        else reject(new Error(`answered with ${answer.statusCode}`))
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

await post()
const startedMs = performance.now()
let made = 0
await Promise.all(
  Array.from({ length: inFlight }, async () => {
    while (made < calls) {
      made += 1
      await post()
    }
  })
)
process.send!({ tookMs: performance.now() - startedMs })
process.disconnect()
