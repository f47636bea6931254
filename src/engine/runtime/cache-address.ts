import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'

export interface CacheAddress {
  host: string
  port: number
  username: string | null
  password: string | null
  database: number
  isTls: boolean
  /** The prefix of all keys: one per Scrapdeck, or per group of engines on one database. */
  namespace: string
  name: string
}

export interface AnswerLimits {
  ttlMs: number
  /** The maximum size of a response before compression. Longer responses are not cached. */
  maxBytes: number
  compressFromBytes: number
}

export const DEFAULT_ANSWER_LIMITS: AnswerLimits = { ttlMs: 60_000, maxBytes: 4_000_000, compressFromBytes: 4_096 }

const NAMESPACE = /^[a-z][a-z0-9_]{0,39}$/
const DATABASE = /^\/?(\d{0,5})$/

/** Parses `redis://[user[:password]@]host[:port][/database][?namespace=…]`, or `rediss:` for TLS. Throws BAD_INPUT. */
export function parseCacheAddress(text: string, password: string | null = null): CacheAddress {
  const refuse = (what: string) => new ScrapdeckError('BAD_INPUT', sentence('storage.redis_address_invalid', { what }))
  if (!URL.canParse(text)) throw refuse('The address of the cache is not a URL')
  const url = new URL(text)
  if (!['redis:', 'rediss:'].includes(url.protocol)) throw refuse(`A cache cannot be at ${url.protocol}`)
  if (url.hostname === '') throw refuse('The address of the cache names no host')
  const database = DATABASE.exec(url.pathname)?.[1]
  if (database === undefined) throw refuse('The database of the cache is not a number')
  const other = [...url.searchParams.keys()].find((name) => name !== 'namespace')
  if (other !== undefined) throw refuse(`The address of the cache has no parameter ${JSON.stringify(other)}`)
  const namespace = url.searchParams.get('namespace') ?? 'scrapdeck'
  if (!NAMESPACE.test(namespace))
    throw refuse(`The namespace ${JSON.stringify(namespace)} is not lower-case letters, digits and _, 40 at most`)
  const port = url.port === '' ? 6379 : Number(url.port)
  const at = `${url.hostname}:${port}${Number(database) === 0 ? '' : `/${Number(database)}`}`
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port,
    username: url.username === '' ? null : decodeURIComponent(url.username),
    password: password ?? (url.password === '' ? null : decodeURIComponent(url.password)),
    database: Number(database),
    isTls: url.protocol === 'rediss:',
    namespace,
    name: `${at}${namespace === 'scrapdeck' ? '' : ` (${namespace})`}`
  }
}
