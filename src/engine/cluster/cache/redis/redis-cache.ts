import type { Redis } from 'ioredis'
import { createHmac, scrypt } from 'node:crypto'
import type { AnswerLimits, CacheAddress } from '../../../runtime/cache-address.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { type CachedAnswer, type Failures, LINKS_MAX, type SharedCache, SESSIONS_MAX } from '../shared-cache.ts'
import type { BucketRule, Taken } from '../token-bucket.ts'
import { type LinkLimits, RedisLink } from './redis-link.ts'
import { type ScriptName, SCRIPTS } from './scripts.ts'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'

/** Identifies the data behind the answers. It differs between databases and changes with a restore. */
export interface AnswersOrigin {
  position(): Promise<number>
  readIdentity(): Promise<string>
  /** Called when the cached answers are newer than the database. */
  renewIdentity(): Promise<string>
}

export interface RedisCacheOptions {
  address: CacheAddress
  answers: AnswerLimits
  origin: AnswersOrigin
  /** Engines with the same credentials share sessions. */
  credentials: { username: string; password: string }
  clock: Clock
  logger: Logger
  limits?: Partial<LinkLimits>
  /** For tests: the cache's clock in ms. */
  timeThere?: () => number
}

export async function openRedisCache(options: RedisCacheOptions): Promise<RedisCache> {
  const { Redis: Client } = await import('ioredis')
  return new RedisCache((settings) => new Client({ ...settings, scripts: SCRIPTS }), options)
}

/** A shared cache on a server that speaks Redis' protocol and runs its scripts (Redis 6.2 or later, Valkey). */
export class RedisCache implements SharedCache {
  readonly #options: RedisCacheOptions
  readonly #link: RedisLink
  /** The braces keep all keys of a namespace in one cluster slot. */
  readonly #prefix: string
  #fingerprint: string | null = null
  /** Never stored in the cache, so only engines that know the credentials can mark a session or a link. */
  #markKey: Uint8Array = new Uint8Array()
  #hasAdoptedCredentials = false
  #identity: string | null = null
  #refused = 0

  constructor(create: (options: object) => Redis, options: RedisCacheOptions) {
    const { address, clock, logger, limits = {} } = options
    this.#options = options
    this.#prefix = `{${address.namespace}}`
    const onConnected = (client: Redis) => this.#prepare(client)
    this.#link = new RedisLink(create, { address, clock, logger, limits, onConnected })
    this.#link.start()
  }

  get events() {
    return this.#link.events
  }

  get isAway(): boolean {
    return this.#link.isAway
  }

  state() {
    return this.#link.state()
  }

  /** `refused` counts answers that were too large. */
  calls() {
    return { ...this.#link.calls(), refused: this.#refused }
  }

  stop(): void {
    this.#link.stop()
  }

  async take(
    { limit, client }: { limit: string; client: string },
    { burst, perSecond }: BucketRule,
    cost: number
  ): Promise<Taken | null> {
    const key = this.#key('rate', limit, client)
    const reply = await this.#run('take', [key], [burst, perSecond, cost, this.#now()])
    if (!Array.isArray(reply)) return null
    return { isTaken: reply[0] === 1, left: Number(reply[1]) }
  }

  async countFailure({ limit, client }: { limit: string; client: string }, windowMs: number): Promise<Failures | null> {
    const reply = await this.#run('countFailure', [this.#key('failures', limit, client)], [windowMs])
    return Array.isArray(reply) ? { count: Number(reply[0]), leftMs: Number(reply[1]) } : null
  }

  async addLink(hash: string, validMs: number): Promise<true | null> {
    const reply = await this.#run('addLink', [this.#links], [this.#mark(hash), validMs, LINKS_MAX, this.#now()])
    return reply === 1 ? true : null
  }

  async hasLink(hash: string): Promise<boolean | null> {
    return asBoolean(await this.#run('hasLink', [this.#links], [this.#mark(hash), this.#now()]))
  }

  async takeLink(hash: string): Promise<boolean | null> {
    return asBoolean(await this.#run('takeLink', [this.#links], [this.#mark(hash), this.#now()]))
  }

  async dropLinks(): Promise<true | null> {
    return (await this.#link.ask((client) => client.del(this.#links))) === null ? null : true
  }

  async addSession(hash: string, validMs: number): Promise<true | null> {
    const values = [this.#mark(hash), validMs, SESSIONS_MAX, this.#now(), this.#fingerprint ?? '']
    return (await this.#run('addSession', this.#sessions, values)) === 1 ? true : null
  }

  async haveSessions(hashes: readonly string[]): Promise<boolean[] | null> {
    const values = [this.#now(), this.#fingerprint ?? '', ...hashes.map((hash) => this.#mark(hash))]
    const reply = await this.#run('haveSessions', this.#sessions, values)
    return Array.isArray(reply) ? reply.map((one) => one === 1) : null
  }

  async endSession(hash: string): Promise<true | null> {
    const reply = await this.#run('endSession', this.#sessions, [this.#mark(hash), this.#fingerprint ?? ''])
    return reply === 1 ? true : null
  }

  async endSessions(): Promise<number | null> {
    const reply = await this.#run('endSessions', this.#sessions, [this.#now(), this.#fingerprint ?? ''])
    return typeof reply === 'number' ? reply : null
  }

  async readAnswer(key: string): Promise<CachedAnswer | undefined | null> {
    const { answers } = this.#options
    const most = longestEntry(answers)
    // Reads one byte more than allowed, to detect longer entries, which are not ours.
    const entry = await this.#link.ask((client) => client.getrangeBuffer(this.#answer(key), 0, most))
    if (entry === null) return null
    if (entry.length === 0 || entry.length > most) return undefined
    return (await unpackAnswer(entry, answers)) ?? undefined
  }

  async writeAnswer(key: string, answer: CachedAnswer): Promise<boolean | null> {
    if (this.isAway) return null
    const entry = await packAnswer(answer, this.#options.answers)
    if (entry === null) {
      this.#refused += 1
      return false
    }
    const keys = [this.#answer(key), this.#newest]
    const reply = await this.#run('writeAnswer', keys, [entry, answer.position, this.#options.answers.ttlMs])
    return reply === 1 ? true : null
  }

  async #prepare(client: Redis): Promise<void> {
    const { origin, credentials, address } = this.#options
    if (this.#fingerprint === null) {
      const derived = await derivedFrom(credentials, address.namespace)
      this.#fingerprint = derived.toString('hex', 0, 32)
      this.#markKey = derived.subarray(32)
    }
    if (!this.#hasAdoptedCredentials) {
      const keys = [...this.#sessions, this.#links]
      await scriptOf(client, 'adoptCredentials')(...keys, this.#fingerprint)
      this.#hasAdoptedCredentials = true
    }
    this.#identity = await origin.readIdentity()
    // Reads this position first. If the database's position is still lower, the database was restored from a backup.
    const newest = Number((await client.get(this.#newest)) ?? -1)
    if (newest > (await origin.position())) this.#identity = await origin.renewIdentity()
  }

  #run(script: ScriptName, keys: string[], values: (string | number | Buffer)[]): Promise<unknown> {
    return this.#link.ask((client) => scriptOf(client, script)(...keys, ...values))
  }

  #now(): string {
    return this.#options.timeThere === undefined ? '' : String(this.#options.timeThere())
  }

  #key(...parts: string[]): string {
    return [this.#prefix, ...parts].join(':')
  }

  /** Uses a key, because otherwise anyone with write access to the cache could add the hash of their own token. */
  #mark(hash: string): string {
    return createHmac('sha256', this.#markKey).update(hash).digest('hex')
  }

  get #links(): string {
    return this.#key('links', (this.#fingerprint ?? '').slice(0, 16))
  }

  get #sessions(): string[] {
    return [this.#key('sessions'), this.#key('credentials')]
  }

  get #newest(): string {
    return this.#key('newest', this.#identity ?? '')
  }

  #answer(key: string): string {
    return this.#key('answer', this.#identity ?? '', key)
  }
}

const asBoolean = (reply: unknown): boolean | null => (typeof reply === 'number' ? reply === 1 : null)

type Script = (...keysAndValues: (string | number | Buffer)[]) => Promise<unknown>

function scriptOf(client: Redis, name: ScriptName): Script {
  const method = (client as unknown as Record<ScriptName, Script>)[name]
  return method.bind(client)
}

/**
 * Returns the fingerprint, which the cache stores, and a key, which it does not. Scrypt is slow on purpose: the
 * fingerprint must not help to guess the password. All engines use the same salt.
 */
function derivedFrom({ username, password }: RedisCacheOptions['credentials'], namespace: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(JSON.stringify([username, password]), `scrapdeck ${namespace}`, 64, { N: 16_384 }, (error, hash) => {
      if (error === null) resolve(hash)
      else reject(error)
    })
  })
}

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/** One byte for the format, then the position in the change log and the uncompressed length of the body. */
const HEAD_BYTES = 13
const PLAIN = 1
const DEFLATED = 2

/** Bodies that compression does not shorten are stored as they are, so no entry is longer than this. */
const longestEntry = ({ maxBytes }: Pick<AnswerLimits, 'maxBytes'>): number => HEAD_BYTES + maxBytes

/** Returns null for a body that is too large to store. */
async function packAnswer({ position, body }: CachedAnswer, limits: AnswerLimits): Promise<Buffer | null> {
  if (body.length > limits.maxBytes) return null
  const deflated = body.length >= limits.compressFromBytes ? await deflate(body, { level: 1 }) : body
  const isShorter = deflated.length < body.length
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt8(isShorter ? DEFLATED : PLAIN, 0)
  head.writeDoubleBE(position, 1)
  head.writeUInt32BE(body.length, 9)
  return Buffer.concat([head, isShorter ? deflated : body])
}

/** Returns null for an entry that is not ours, is damaged, or is too large. The cache's content is untrusted. */
async function unpackAnswer(entry: Buffer, { maxBytes }: AnswerLimits): Promise<CachedAnswer | null> {
  if (entry.length < HEAD_BYTES) return null
  const format = entry.readUInt8(0)
  const position = entry.readDoubleBE(1)
  const length = entry.readUInt32BE(9)
  if (!Number.isSafeInteger(position) || length > maxBytes) return null
  const packed = entry.subarray(HEAD_BYTES)
  if (format === PLAIN) return packed.length === length ? { position, body: packed } : null
  if (format !== DEFLATED) return null
  try {
    const body = await inflate(packed, { maxOutputLength: Math.max(1, length) })
    return body.length === length ? { position, body } : null
  } catch {
    return null
  }
}
