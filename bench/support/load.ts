/**
 * A load generator in its own process, so that its CPU time does not count as the server's. Gets a LoadOrder, sends a
 * LoadResult and exits.
 */
import { Client } from 'undici'

export interface LoadOrder {
  /** The URLs to request, in rotation. */
  urls: string[]
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body: string | null
  /** Replaces every nth request with a POST. Default: none. */
  posts?: { every: number; url: string; contentType: string; body: string }
  /** The number of keep-alive connections. Each sends one request at a time. */
  connections: number
  until: { durationMs: number } | { requests: number }
  /** Text that every response must contain. Any other response is an error. */
  expected: string
}

export interface LoadResult {
  requests: number
  seconds: number
  errors: number
  error: string | null
  averageMs: number
  p50Ms: number
  p95Ms: number
  p99Ms: number
  /** The CPU time of the generator while it sent requests. */
  cpuMs: number
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
  const { posts } = order
  const post =
    posts === undefined
      ? null
      : {
          method: 'POST' as const,
          path: new URL(posts.url).pathname,
          body: posts.body,
          headers: { ...order.headers, 'content-type': posts.contentType }
        }
  const clients = Array.from({ length: order.connections }, () => new Client(origin))
  // Opens the connections before the measurement starts.
  await Promise.all(clients.map((client) => ask(client, paths[0]!)))
  const tookMs: number[] = []
  let begun = 0
  let error: string | null = null
  let errors = 0
  const { until } = order
  const cpuBefore = process.cpuUsage()
  const startedMs = performance.now()
  const isOver = () =>
    'requests' in until ? begun >= until.requests : performance.now() - startedMs >= until.durationMs
  await Promise.all(
    clients.map(async (client) => {
      while (!isOver()) {
        const path = paths[begun % paths.length]!
        begun += 1
        const askedMs = performance.now()
        const isPost = post !== null && begun % posts!.every === 0
        const problem = isPost ? await send(client, post) : await ask(client, path)
        tookMs.push(performance.now() - askedMs)
        if (problem === null) continue
        errors += 1
        error ??= problem
      }
    })
  )
  const seconds = (performance.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  await Promise.all(clients.map((client) => client.destroy()))
  tookMs.sort((one, other) => one - other)
  const at = (share: number) => tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * share))] ?? 0
  return {
    requests: tookMs.length,
    seconds,
    errors,
    error,
    averageMs: tookMs.reduce((sum, one) => sum + one, 0) / Math.max(1, tookMs.length),
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    p99Ms: at(0.99),
    cpuMs: (user + system) / 1_000
  }

  function ask(client: Client, path: string): Promise<string | null> {
    return send(client, { path, method: order.method, headers: order.headers, body: order.body })
  }

  /** Resolves to an error or null. Creates no object for the body, because the server must be the bottleneck. */
  function send(client: Client, request: Pick<LoadOrder, 'method' | 'headers' | 'body'> & { path: string }) {
    const { method, path } = request
    return new Promise<string | null>((resolve) => {
      let statusCode = 0
      let isExpected = false
      let start = ''
      let end = ''
      client.dispatch(request, {
        onRequestStart() {},
        onResponseStart(_controller, status) {
          statusCode = status
        },
        onResponseData(_controller, piece) {
          if (start === '') start = piece.subarray(0, 300).toString('latin1')
          if (isExpected) return
          // The expected text can span two chunks.
          const { length } = order.expected
          const seam = end + piece.subarray(0, length).toString('latin1')
          isExpected = piece.includes(order.expected) || seam.includes(order.expected)
          end = (end + piece.subarray(-length).toString('latin1')).slice(-length)
        },
        onResponseEnd() {
          resolve(statusCode === 200 && isExpected ? null : `${method} ${path}: ${statusCode} ${start}`)
        },
        onResponseError: (_controller, failure) => resolve(`${method} ${path}: ${failure.message}`)
      })
    })
  }
}
