import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import type { CacheAddress } from '../../../runtime/cache-address.ts'
import { type Clock, type Timer, within } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { CacheCalls, CacheState } from '../shared-cache.ts'

/** Limits for requests that wait for the cache. A cache on the same network responds in a millisecond. */
export interface LinkLimits {
  timeoutMs: number
  /** A slower response is used but counts as a failure. After several failures in a row, the cache is bypassed. */
  slowMs: number
  heartbeatMs: number
}

const DEFAULT_LIMITS: LinkLimits = { timeoutMs: 100, slowMs: 50, heartbeatMs: 1_000 }
const CONNECT_LIMIT_MS = 2_000
const ALIVE_MS = 60_000
/** The pause before a reconnect doubles up to this limit. */
const LONGEST_RECONNECT_MS = 5_000

export interface RedisLinkOptions {
  address: CacheAddress
  clock: Clock
  logger: Logger
  onConnected: (client: Redis) => Promise<void>
  limits?: Partial<LinkLimits>
}

/** Every wait is bounded. No call is repeated, because a failed call may have taken effect. */
export class RedisLink {
  /** `changed`: the cache became available or unavailable. */
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #options: RedisLinkOptions
  readonly #limits: LinkLimits
  readonly #client: Redis
  readonly #calls: CacheCalls = { ok: 0, failed: 0, timeout: 0, skipped: 0, seconds: 0 }
  #breaker: Breaker = CLOSED_BREAKER
  #isPrepared = false
  #isStopped = false
  #timer: Timer | null = null
  #state: CacheState
  #warned = ''
  #isPreparing = false

  constructor(create: (options: object) => Redis, options: RedisLinkOptions) {
    const { address, clock } = options
    this.#options = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#state = { name: address.name, isUp: false, reason: null, sinceMs: clock.nowMs() }
    this.#client = create({
      host: address.host,
      port: address.port,
      db: address.database,
      ...(address.username !== null && { username: address.username }),
      ...(address.password !== null && { password: address.password }),
      ...(address.isTls && { tls: { servername: address.host } }),
      connectionName: 'scrapdeck',
      lazyConnect: true,
      connectTimeout: CONNECT_LIMIT_MS,
      // A call without a connection fails immediately, and no call is repeated on the next connection.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      enableReadyCheck: false,
      disableClientInfo: true,
      retryStrategy: (times: number) => Math.min(100 * 2 ** Math.min(times, 10), LONGEST_RECONNECT_MS)
    })
    this.#client.on('ready', () => void this.#probe())
    this.#client.on('close', () => this.#lose(CLOSED))
    this.#client.on('error', (error) => this.#lose(describe(error)))
  }

  start(): void {
    // The `error` event reports failures.
    this.#client.connect().catch(() => {})
    this.#schedule(this.#limits.heartbeatMs)
  }

  get isAway(): boolean {
    return !this.#isPrepared || this.#breaker.isOpen
  }

  state(): CacheState {
    return this.#state
  }

  calls(): CacheCalls {
    return { ...this.#calls }
  }

  async ask<T>(send: (client: Redis) => Promise<T>): Promise<T | null> {
    if (this.isAway) {
      this.#calls.skipped += 1
      return null
    }
    return this.#send(send, { isProbe: false })
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#client.disconnect()
  }

  async #send<T>(send: (client: Redis) => Promise<T>, { isProbe }: { isProbe: boolean }): Promise<T | null> {
    const { clock } = this.#options
    const beganAtMs = clock.monotonicMs()
    const late = Promise.withResolvers<typeof LATE>()
    // The response may have arrived while the event loop was busy. One more turn of the loop reads it.
    let timer = clock.setTimer(this.#limits.timeoutMs, () => {
      timer = clock.setTimer(1, () => late.resolve(LATE))
    })
    try {
      const result = await Promise.race([send(this.#client), late.promise])
      const tookMs = clock.monotonicMs() - beganAtMs
      if (result === LATE) {
        this.#calls.timeout += 1
        this.#fail(`it did not answer within ${this.#limits.timeoutMs} ms`, isProbe)
        return null
      }
      this.#calls.ok += 1
      this.#calls.seconds += tookMs / 1_000
      // The probe of a bypassed cache must be fast. A probe of a cache in use counts like any call.
      const isCertain = isProbe && this.#breaker.isOpen
      if (tookMs > this.#limits.slowMs) this.#fail(`it answers slowly (${Math.round(tookMs)} ms)`, isCertain)
      else if (isProbe || !this.#breaker.isOpen) this.#succeed()
      return result
    } catch (error) {
      this.#calls.failed += 1
      this.#fail(describe(error), isProbe)
      return null
    } finally {
      timer.cancel()
    }
  }

  #succeed(): void {
    this.#breaker = afterSuccess(this.#breaker, this.#options.clock.monotonicMs())
    this.#report(null)
  }

  #fail(reason: string, isCertain: boolean): void {
    const wasOpen = this.#breaker.isOpen
    this.#breaker = afterFailure(this.#breaker, { isCertain })
    if (!this.#breaker.isOpen) return
    this.#report(reason)
    if (!wasOpen || isCertain) this.#schedule(this.#breaker.holdMs)
  }

  #lose(reason: string): void {
    if (this.#isStopped) return
    this.#isPrepared = false
    this.#report(reason)
  }

  #schedule(afterMs: number): void {
    this.#timer?.cancel()
    if (!this.#isStopped) this.#timer = this.#options.clock.setTimer(afterMs, () => void this.#probe())
  }

  async #probe(): Promise<void> {
    if (this.#isStopped) return
    this.#schedule(this.#limits.heartbeatMs)
    if (this.#client.status !== 'ready') return
    if (!this.#isPrepared) return this.#prepare()
    const before = this.#breaker.isOpen
    // Probes with a write, because a full server or a replica refuses only writes.
    const key = `{${this.#options.address.namespace}}:alive`
    await this.#send((client) => client.set(key, '1', 'PX', ALIVE_MS), { isProbe: true })
    // Reconnects, because a dead connection can go unnoticed for minutes, and its calls are lost anyway.
    if (before && this.#breaker.isOpen && !this.#isStopped) this.#client.disconnect(true)
  }

  async #prepare(): Promise<void> {
    if (this.#isPreparing) return
    this.#isPreparing = true
    try {
      const info = await this.#within(this.#client.info().catch(allowHidden))
      const { problem, warnings } = checkServer(info)
      if (problem !== null) return this.#report(problem)
      this.#warn(warnings)
      await this.#within(this.#options.onConnected(this.#client))
      if (this.#isStopped || this.#client.status !== 'ready') return
      this.#isPrepared = true
      this.#succeed()
    } catch (error) {
      this.#report(describe(error))
    } finally {
      this.#isPreparing = false
    }
  }

  /** The limit is longer than that of a request, because no request waits for this work. */
  #within<T>(work: Promise<T>): Promise<T> {
    return within(this.#options.clock, CONNECT_LIMIT_MS, work, () => {
      throw new Error('it does not answer')
    })
  }

  #warn(warnings: readonly string[]): void {
    const text = warnings.join('. ')
    if (text !== '' && text !== this.#warned) this.#options.logger.warn({ cache: this.#state.name }, text)
    this.#warned = text
  }

  /** `reason` is null if the cache works. Logs when the cache starts or stops working, but not each new reason. */
  #report(reason: string | null): void {
    const { isUp, reason: before, name, sinceMs } = this.#state
    const isUpNow = reason === null
    if (this.#isStopped || (isUpNow && isUp)) return
    const { logger, clock } = this.#options
    if (!isUpNow && !isUp && before !== null) {
      // Keeps the reason why the connection could not be opened, which says more than that it was closed.
      if (reason !== CLOSED) this.#state = { name, isUp, reason, sinceMs }
      return
    }
    this.#state = { name, isUp: isUpNow, reason, sinceMs: clock.nowMs() }
    if (!isUpNow)
      logger.warn({ cache: name, reason }, 'The shared cache is unavailable: this engine continues without it')
    else logger.info({ cache: name }, 'The shared cache is in use')
    this.events.emit('changed')
  }
}

const LATE = Symbol('late')
const CLOSED = 'its connection was closed'

/** Treats a refused INFO as empty because some providers do not allow it. */
function allowHidden(error: unknown): string {
  if (/^NOPERM/.test((error as Error).message)) return ''
  throw error
}

/** Omits the parts of commands that messages from the client or the server can quote. */
function describe(error: unknown): string {
  const { message, code, errors } = error as NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] }
  const network = code ?? errors?.[0]?.code
  if (network === 'ECONNREFUSED') return 'nothing listens at its address'
  if (network === 'ENOTFOUND' || network === 'EAI_AGAIN') return 'its host name is unknown'
  if (network === 'ETIMEDOUT') return 'it cannot be reached'
  if (/^(WRONGPASS|NOAUTH|ERR AUTH|ERR invalid password)/.test(message)) return 'it rejects the user name or password'
  if (message.startsWith('OOM')) return 'its memory is full, and its policy does not allow it to drop anything'
  if (message.startsWith('LOADING')) return 'it is still loading its data'
  if (message.startsWith('READONLY')) return 'it is a replica, which accepts no writes: name the primary'
  if (message.startsWith('NOPERM')) return 'its user lacks the rights for a command or key'
  // https://nodejs.org/api/tls.html#x509-certificate-error-codes
  if (/CERT|SIGNATURE|ISSUER/.test(network ?? ''))
    return `its TLS certificate is not trusted (${network}): name its authority in NODE_EXTRA_CA_CERTS, or correct the host name`
  if (network !== undefined) return `its connection failed (${network})`
  return message.split('\n', 1)[0]!.slice(0, 200)
}

/**
 * A circuit breaker: decides when a failing cache is bypassed and when it is tried again. Pure: the caller has the
 * clock. Only failures in a row count, because one slow response among fast ones means nothing.
 *
 *     closed ── `failuresToOpen` in a row ──> open (for `holdMs`) ── probe succeeded ──> closed
 *                                             └─ probe failed: open for twice as long, at most `LONGEST_HOLD_MS`
 */
export interface Breaker {
  isOpen: boolean
  failuresInARow: number
  holdMs: number
  closedAtMs: number
}

const FAILURES_TO_OPEN = 5
const FIRST_HOLD_MS = 500
const LONGEST_HOLD_MS = 15_000
/** If a cache fails again within this time, it can handle little more than probes, so the hold keeps growing. */
const STEADY_AFTER_MS = 30_000

export const CLOSED_BREAKER: Breaker = { isOpen: false, failuresInARow: 0, holdMs: FIRST_HOLD_MS, closedAtMs: 0 }

export function afterSuccess(breaker: Breaker, nowMs: number): Breaker {
  if (!breaker.isOpen) {
    const isSteady = nowMs - breaker.closedAtMs >= STEADY_AFTER_MS
    return { ...breaker, failuresInARow: 0, holdMs: isSteady ? FIRST_HOLD_MS : breaker.holdMs }
  }
  return { isOpen: false, failuresInARow: 0, holdMs: Math.min(breaker.holdMs * 2, LONGEST_HOLD_MS), closedAtMs: nowMs }
}

export function afterFailure(breaker: Breaker, { isCertain }: { isCertain: boolean }): Breaker {
  if (breaker.isOpen) {
    // Calls that were in progress when the breaker opened do not count. A failed probe does.
    return isCertain ? { ...breaker, holdMs: Math.min(breaker.holdMs * 2, LONGEST_HOLD_MS) } : breaker
  }
  const failuresInARow = breaker.failuresInARow + 1
  return { ...breaker, failuresInARow, isOpen: isCertain || failuresInARow >= FAILURES_TO_OPEN }
}

interface ServerCheck {
  problem: string | null
  warnings: string[]
}

/** The first version with ZMSCORE and with scripts that can write after they read the time. */
const OLDEST_VERSION = [6, 2]

export function checkServer(info: string): ServerCheck {
  const fields = new Map(
    info.split(/\r?\n/).flatMap((line): [string, string][] => {
      const colon = line.indexOf(':')
      return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]]
    })
  )
  return { problem: problemOf(fields), warnings: warningsOf(fields) }
}

function problemOf(fields: ReadonlyMap<string, string>): string | null {
  const version = fields.get('redis_version') ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_VERSION
  if (version !== '' && (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)))
    return `it is Redis ${version}; ${OLDEST_VERSION.join('.')} or later is needed`
  if (fields.get('loading') === '1') return 'it is still loading its data'
  if (fields.get('role') === 'slave') return 'it is a replica, which accepts no writes: name the primary'
  if (fields.get('cluster_enabled') === '1') return 'it is part of a cluster: name a server that is not'
  return null
}

function warningsOf(fields: ReadonlyMap<string, string>): string[] {
  const policy = fields.get('maxmemory_policy') ?? ''
  if ((fields.get('maxmemory') ?? '0') === '0') {
    return ['The shared cache has no memory limit (maxmemory). Set one, with maxmemory-policy volatile-ttl']
  }
  if (policy === 'noeviction') {
    return ['The shared cache refuses writes when it is full (maxmemory-policy noeviction). Set volatile-ttl']
  }
  if (policy.startsWith('allkeys-') || policy === 'volatile-random') {
    return [`The shared cache may drop sessions before answers (maxmemory-policy ${policy}). Set volatile-ttl`]
  }
  return []
}
