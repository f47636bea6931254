import { createHash } from 'node:crypto'
import type { Engine } from '../../engine/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'

/** What a request with a key is answered with; `headers` besides those of every answer. */
export interface KeyedResponse {
  status: number
  headers: Record<string, string>
  body: unknown
}

export interface OnceRequest {
  key: string | string[] | undefined
  credential: string
  method: string
  /** With its query. */
  path: string
  body: unknown
  repeatableForMs: number
}

const KEY = /^[\x21-\x7e]{1,255}$/
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * A write with an Idempotency-Key is done once; without one, and for reads, `perform` is all. What it is given names the order to the
 * engine (RouterContext.onceKey), or null. Answers that cannot be repeated (streams, failures) are not remembered: their key is free again.
 */
export async function answerOnce(
  answers: Engine['answers'],
  request: OnceRequest,
  perform: (onceKey: string | null) => Promise<{ response: KeyedResponse; isFinal: boolean }>
): Promise<KeyedResponse> {
  const { key, credential, method, path, body } = request
  if (key === undefined || !WRITES.has(method)) return (await perform(null)).response
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw new ScrapdeckError('BAD_INPUT', 'An Idempotency-Key is 1 to 255 letters, digits and signs, without blanks')
  }
  const fingerprint = await fingerprintOf(method, path, body)
  const onceKey = `once:${hash([credential, key])}`
  let own: KeyedResponse | null = null
  const { text, isReplayed } = await answers.once(
    { scope: credential, key, fingerprint, repeatableForMs: request.repeatableForMs },
    async () => {
      const { response, isFinal } = await perform(onceKey)
      own = response
      return { text: isFinal ? JSON.stringify(response) : '', isFinal }
    }
  )
  if (!isReplayed && own !== null) return own
  const first = JSON.parse(text) as KeyedResponse
  return { ...first, headers: { ...first.headers, 'idempotency-replayed': 'true' } }
}

/** As CrawlInput has it where nothing is said. */
const CRAWL_SECONDS = 3_600
/** Between looking whether a key is still known and using it. */
const MARGIN_MS = 10_000

/**
 * For how long it may be done again where nobody knows whether it was. Orders for jobs may for as long as their jobs are known: by the key of
 * the request (RouterContext.onceKey), else by the dedupe key of their own. Those that are to be made whatever was made before are never.
 */
export function repeatableForMs(path: string, body: unknown): number {
  const order = (body ?? {}) as {
    dedupe?: Dedupe
    jobs?: unknown
    interval?: unknown
    cache_seconds?: unknown
    ignore_cache?: unknown
  }
  if (path === '/jobs') return knownForMs(order.dedupe)
  if (path === '/jobs/bulk') {
    const jobs = Array.isArray(order.jobs) ? (order.jobs as ({ dedupe?: Dedupe } | null)[]) : []
    return jobs.reduce((leastMs, job) => Math.min(leastMs, knownForMs(job?.dedupe)), Number.POSITIVE_INFINITY)
  }
  if (path !== '/crawl' || isSet(order.ignore_cache)) return 0
  // A repeated one is a schedule, which its name tells again.
  return order.interval === undefined
    ? Number(order.cache_seconds ?? CRAWL_SECONDS) * 1_000 - MARGIN_MS
    : Number.POSITIVE_INFINITY
}

type Dedupe = { ttlSeconds?: unknown; renew?: unknown } | null | undefined

function knownForMs(dedupe: Dedupe): number {
  if (dedupe == null) return Number.POSITIVE_INFINITY
  return isSet(dedupe.renew) ? 0 : Number(dedupe.ttlSeconds) * 1_000 - MARGIN_MS
}

/** Bodies are read as they come: what else than false a door reads as true is its own affair. */
const isSet = (flag: unknown): boolean => flag !== undefined && flag !== false

async function fingerprintOf(method: string, path: string, body: unknown): Promise<string> {
  return hash([method, path, body instanceof FormData ? await describeForm(body) : (body ?? null)])
}

/** Its boundary is another each time it is sent. */
async function describeForm(form: FormData): Promise<unknown> {
  return Promise.all(
    [...form].map(async ([name, value]) =>
      typeof value === 'string'
        ? [name, value]
        : [
            name,
            value.name,
            createHash('sha256')
              .update(new Uint8Array(await value.arrayBuffer()))
              .digest('hex')
          ]
    )
  )
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}
