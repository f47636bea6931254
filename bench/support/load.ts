/**
 * Generates load in its own process, so that its work does not count as the server's. Its first message is a LoadOrder;
 * it replies with a LoadResult and exits.
 */
import { Client } from 'undici'

export interface LoadOrder {
  /** Requested in turn. */
  urls: string[]
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body: string | null
  /** Kept alive; each has one request at a time. */
  connections: number
  /** Ends after this time, or after so many requests. */
  until: { durationMs: number } | { requests: number }
  /** Text that every response must contain; others are errors. */
  expected: string
}

export interface LoadResult {
  requests: number
  seconds: number
  errors: number
  /** The first error, if there was one. */
  error: string | null
  averageMs: number
  p50Ms: number
  p95Ms: number
  p99Ms: number
}

process.once('message', (order: LoadOrder) => {
  void generate(order).then(
    (result) => process.send!(result, () => process.exit()),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    }
  )
})

async function generate(order: LoadOrder): Promise<LoadResult> {
  const { origin } = new URL(order.urls[0]!)
  const paths = order.urls.map((url) => {
    const { pathname, search } = new URL(url)
    return pathname + search
  })
  const clients = Array.from({ length: order.connections }, () => new Client(origin))
  // Connects before the clock starts.
  await Promise.all(clients.map((client) => ask(client, paths[0]!)))
  const tookMs: number[] = []
  let begun = 0
  let error: string | null = null
  let errors = 0
  const { until } = order
  const startedMs = performance.now()
  const isOver = () =>
    'requests' in until ? begun >= until.requests : performance.now() - startedMs >= until.durationMs
  await Promise.all(
    clients.map(async (client) => {
      while (!isOver()) {
        const path = paths[begun % paths.length]!
        begun += 1
        const askedMs = performance.now()
        const problem = await ask(client, path)
        tookMs.push(performance.now() - askedMs)
        if (problem === null) continue
        errors += 1
        error ??= problem
      }
    })
  )
  const seconds = (performance.now() - startedMs) / 1000
  await Promise.all(clients.map((client) => client.destroy()))
  tookMs.sort((one, other) => one - other)
  const at = (share: number) => tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * share))] ?? 0
  return {
    ...{ requests: tookMs.length, seconds, errors, error },
    averageMs: tookMs.reduce((sum, one) => sum + one, 0) / Math.max(1, tookMs.length),
    ...{ p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) }
  }

  /** Resolves to what is wrong with the answer. Makes no body object: the server is to be the bottleneck. */
  function ask(client: Client, path: string): Promise<string | null> {
    return new Promise((resolve) => {
      let statusCode = 0
      let isExpected = false
      let start = ''
      client.dispatch(
        { path, method: order.method, headers: order.headers, body: order.body },
        {
          onRequestStart() {},
          onResponseStart(_controller, status) {
            statusCode = status
          },
          onResponseData(_controller, piece) {
            if (start === '') start = piece.subarray(0, 300).toString('latin1')
            isExpected ||= piece.includes(order.expected)
          },
          onResponseEnd() {
            resolve(statusCode === 200 && isExpected ? null : `${order.method} ${path}: ${statusCode} ${start}`)
          },
          onResponseError: (_controller, failure) => resolve(`${order.method} ${path}: ${failure.message}`)
        }
      )
    })
  }
}
