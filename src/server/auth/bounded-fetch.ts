import { request } from 'undici'
import type { Clock } from '../../engine/runtime/clock.ts'
import { PLAIN_BODIES, requirePlainBody } from '../../engine/runtime/plain-bodies.ts'

/**
 * The maximum size of a response. Discovery documents, keys and tokens take a few kilobytes, or up to a hundred
 * kilobytes for a user with many groups.
 */
const MAX_BYTES = 1024 * 1024
const MAX_WAIT_MS = 10_000
/** The pause after a failure, so that a flood of requests here does not become a flood at the provider. */
const PAUSE_MS = 5_000

interface FetchOptions {
  method?: string
  headers?: ConstructorParameters<typeof Headers>[0]
  body?: unknown
}
type Fetch = (url: string, options: FetchOptions) => Promise<Response>

/**
 * A `fetch` for an identity provider. Limits size and time, rejects encoded bodies and redirects, and pauses after a
 * failure. Rejects with a readable reason.
 */
export function createBoundedFetch(clock: Clock): Fetch {
  const pausedUntilMs = new Map<string, number>()
  return async (url, options) => {
    const place = url.split('?', 1)[0]!
    if (clock.monotonicMs() < (pausedUntilMs.get(place) ?? 0)) {
      throw new Error(`${new URL(url).host} did not respond a moment ago`)
    }
    try {
      const { method = 'GET', headers: given, body: sent } = options
      const {
        statusCode: status,
        headers: answered,
        body: stream
      } = await request(url, {
        method: method as 'GET',
        headers: { ...Object.fromEntries(new Headers(given)), ...PLAIN_BODIES },
        body: sent == null ? null : String(sent),
        signal: AbortSignal.timeout(MAX_WAIT_MS)
      })
      requirePlainBody({ headers: answered, body: stream }, new URL(url).host)
      const body = await readBounded(stream, url)
      if (status >= 500) pausedUntilMs.set(place, clock.monotonicMs() + PAUSE_MS)
      else pausedUntilMs.delete(place)
      const headers = new Headers(Object.entries(answered).map(([name, value]) => [name, String(value)]))
      const mayHaveBody = status !== 204 && status !== 205 && status !== 304
      return Object.defineProperty(new Response(mayHaveBody ? body : null, { status, headers }), 'url', { value: url })
    } catch (error) {
      pausedUntilMs.set(place, clock.monotonicMs() + PAUSE_MS)
      throw error
    }
  }
}

async function readBounded(body: AsyncIterable<Uint8Array>, url: string): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.byteLength
    if (bytes > MAX_BYTES) throw new Error(`${new URL(url).host} sent more than ${MAX_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts) as Buffer<ArrayBuffer>
}
