/**
 * A load generator in its own process: the given number of kept-alive connections, one request at a time on each, for a
 * given time. Started with `fork`; receives one message and replies with one. A wrong response ends it: the speed of
 * wrong responses means nothing.
 */
import { Client } from 'undici'

export interface LoadOrder {
  url: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body: string | null
  connections: number
  durationMs: number
  /** Text that every response must contain. */
  expected: string
}

export interface LoadResult {
  requests: number
  seconds: number
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
  const { origin, pathname, search } = new URL(order.url)
  const path = pathname + search
  const clients = Array.from({ length: order.connections }, () => new Client(origin))
  // Connects before the clock starts.
  await Promise.all(clients.map((client) => ask(client)))
  const startedMs = performance.now()
  let requests = 0
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() - startedMs < order.durationMs) {
        await ask(client)
        requests += 1
      }
    })
  )
  const seconds = (performance.now() - startedMs) / 1000
  await Promise.all(clients.map((client) => client.destroy()))
  return { requests, seconds }

  /** Avoids a body object per response, so that the generator is not the bottleneck. */
  function ask(client: Client): Promise<void> {
    return new Promise((resolve, reject) => {
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
            if (statusCode === 200 && isExpected) resolve()
            else reject(new Error(`${order.method} ${path}: ${statusCode} ${start}`))
          },
          onResponseError: (_controller, error) => reject(error)
        }
      )
    })
  }
}
