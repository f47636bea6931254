import { type Clock, type Timer, within } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { EngineSelf, Lease, LeaseTable, SeenLease } from '../../storage/lease-table.ts'
import { HANDOVER_MS, LEASE_MS, nextStep } from './next-step.ts'
import { Mutex } from '../../runtime/mutex.ts'

/** How often a leader renews its lease, and a follower sends a heartbeat. */
const BEAT_MS = 1_000
const LOOK_MS = 150
/** A leader sends nothing in this last part of its lease, because a request takes time to arrive. */
const MARGIN_MS = 500
/** How long to wait for a response. After that, the election opens a new connection, which may get through. */
const ANSWER_MS = 4_500
/** How long an engine that failed to start as leader leaves the lease to others. */
const UNABLE_MS = 10_000

export interface ElectionOptions {
  openTable: (options: { onLost: () => void }) => LeaseTable
  self: EngineSelf
  clock: Clock
  logger: Logger
  /** Starts to lead. Rejects if this engine cannot lead. Another engine may be able to. */
  lead: (lease: Lease) => Promise<void>
  follow: (why: string) => Promise<void>
}

/**
 * Elects one leader among the engines of a database. The lease expires by the database's clock. For the leader
 * itself, it expires earlier, by the leader's own monotonic clock (`mayAct`).
 */
export class Election {
  readonly #options: ElectionOptions
  readonly #table: LeaseTable
  #lease: Lease | null = null
  #validUntilMs = 0
  #hasLock = false
  #isConnected = false
  #connectedAtMs = 0
  #beatAtMs = Number.NEGATIVE_INFINITY
  #isDrained = false
  #handingTo: { next: string | null } | null = null
  #seen: SeenLease | null = null
  /** The monotonic time since which responses have shown this lease state. */
  #unchangedSince = { epoch: -1, renewal: '', atMs: 0 }
  #failure: { error: unknown; atMs: number } | null = null
  #timer: Timer | null = null
  #isStopped = false
  readonly #mutex = new Mutex()
  #waiting: (() => void)[] = []

  constructor(options: ElectionOptions) {
    this.#options = options
    this.#table = options.openTable({ onLost: () => this.#loseConnection() })
  }

  get lease(): Lease | null {
    return this.#lease
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Whether this engine is certain to be the leader now. */
  mayAct(): boolean {
    return (
      this.#lease !== null && this.#isConnected && this.#options.clock.monotonicMs() < this.#validUntilMs - MARGIN_MS
    )
  }

  async start(): Promise<void> {
    for (;;) {
      await this.#next()
      if (this.#isStopped || this.leaderAddress() !== null || this.#lease !== null) return
      if (this.#failure !== null) throw this.#failure.error
      await new Promise<void>((resolve) => void this.#options.clock.setTimer(LOOK_MS, resolve))
    }
  }

  leaderAddress(): string | null {
    const seen = this.#seen
    if (this.#lease !== null || seen === null || seen.holder === null || this.#unchangedMs() >= LEASE_MS) return null
    // The leader was an earlier process at this engine's address, so forwarding to it would lead back here.
    return seen.leaderAddress === this.#options.self.address ? null : seen.leaderAddress
  }

  /** The PEM certificate of the leader. Null if it speaks plain HTTP or publishes no certificate. */
  leaderCertificate(): string | null {
    return this.#seen?.leaderCertificate || null
  }

  change(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(limitMs, resolve)
      this.#waiting.push(() => {
        timer.cancel()
        resolve()
      })
    })
  }

  /** Hands the lease to `next`, or, if `next` is null, to the first engine that takes it. */
  handOver(next: string | null): void {
    if (this.#lease === null) return
    this.#handingTo = { next }
    void this.#next()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#mutex.run(async () => {})
    try {
      const lease = this.#lease
      if (lease !== null) {
        await this.#lose('this engine stops')
        await this.#ask(this.#table.release({ ...lease, next: null, graceMs: 0 }))
      }
      await this.#ask(this.#table.leave(this.#options.self.id))
    } catch (error) {
      this.#options.logger.warn({ error }, 'the lease could not be given back, it runs out by itself')
    } finally {
      await this.#table.close().catch(() => {})
    }
  }

  #next(): Promise<void> {
    return this.#mutex.run(async () => {
      this.#timer?.cancel()
      if (this.#isStopped) return
      try {
        await this.#look()
      } catch (error) {
        this.#fail(error)
      }
      if (this.#isStopped) return
      const waiting = this.#waiting
      this.#waiting = []
      for (const wake of waiting) wake()
      // A leader that lost its connection must reconnect before another engine finds its lock free.
      const delayMs = this.#lease === null || !this.#isConnected ? LOOK_MS : BEAT_MS
      this.#timer = this.#options.clock.setTimer(delayMs, () => void this.#next())
    })
  }

  async #look(): Promise<void> {
    const { clock, self } = this.#options
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#beatAtMs >= BEAT_MS) {
      this.#isDrained = await this.#ask(this.#table.beat(self))
      this.#beatAtMs = nowMs
    }
    if (this.#lease !== null) await this.#renew(this.#lease)
    else await this.#watch()
  }

  async #renew(lease: Lease): Promise<void> {
    const { clock } = this.#options
    if (this.#isDrained) this.#handingTo ??= { next: null }
    if (this.#handingTo !== null) {
      const { next } = this.#handingTo
      this.#handingTo = null
      await this.#lose('the leadership is handed over')
      await this.#ask(this.#table.release({ ...lease, next, graceMs: HANDOVER_MS }))
      return this.#dropLock()
    }
    // The lock may still be held by the former leader, or by an old connection of this engine that the database has not
    // closed yet.
    if (!this.#hasLock) this.#hasLock = (await this.#ask(this.#table.look({ wantsLock: true }))).gotLock
    const askedAtMs = clock.monotonicMs()
    if (await this.#ask(this.#table.renew({ ...lease, hasLock: this.#hasLock, leaseMs: LEASE_MS }))) {
      this.#validUntilMs = askedAtMs + LEASE_MS
      this.#isConnected = true
      return
    }
    await this.#lose('another engine leads')
    await this.#dropLock()
  }

  async #watch(): Promise<void> {
    const { clock, self, lead, logger } = this.#options
    const seen = await this.#ask(this.#table.look({ wantsLock: !this.#isDrained && !this.#hasLock }))
    const nowMs = clock.monotonicMs()
    if (!this.#isConnected) {
      this.#isConnected = true
      this.#connectedAtMs = nowMs
    }
    if (seen.gotLock) this.#hasLock = true
    const { epoch: seenEpoch, renewal } = seen
    const before = this.#unchangedSince
    if (before.epoch !== seenEpoch || before.renewal !== renewal)
      this.#unchangedSince = { epoch: seenEpoch, renewal, atMs: nowMs }
    this.#seen = seen
    const isUnable = this.#failure !== null && nowMs - this.#failure.atMs < UNABLE_MS
    const step = nextStep(
      { ...seen, gotLock: this.#hasLock },
      {
        id: self.id,
        isDrained: this.#isDrained || isUnable,
        connectedMs: nowMs - this.#connectedAtMs,
        unchangedMs: this.#unchangedMs()
      }
    )
    if (step.do === 'follow') return this.#dropLock()
    const askedAtMs = clock.monotonicMs()
    const claim = { holder: self.id, name: self.name, hasLock: this.#hasLock, epoch: seenEpoch, renewal }
    const epoch = await this.#ask(this.#table.take({ ...claim, leaseMs: LEASE_MS, reason: step.reason }))
    if (epoch === null) return this.#dropLock()
    this.#lease = { holder: self.id, epoch }
    this.#validUntilMs = askedAtMs + LEASE_MS
    logger.info({ epoch, reason: step.reason }, 'This engine leads')
    const renewing = this.#keepRenewing(this.#lease)
    try {
      await lead(this.#lease)
      this.#failure = null
    } catch (error) {
      logger.error({ error }, 'this engine could not start to lead')
      this.#failure = { error, atMs: clock.monotonicMs() }
      await this.#lose('it could not start to lead')
      await this.#ask(this.#table.release({ holder: self.id, epoch, next: null, graceMs: 0 }))
      await this.#dropLock()
    } finally {
      await renewing()
    }
  }

  #keepRenewing(lease: Lease): () => Promise<void> {
    let isDone = false
    let timer: Timer | null = null
    let last: Promise<void> = Promise.resolve()
    const again = () => {
      timer = this.#options.clock.setTimer(BEAT_MS, () => {
        last = this.#renewOnce(lease).then(() => void (isDone || again()))
      })
    }
    again()
    return async () => {
      isDone = true
      timer?.cancel()
      await last
    }
  }

  async #renewOnce(lease: Lease): Promise<void> {
    const askedAtMs = this.#options.clock.monotonicMs()
    try {
      const isOurs = await this.#ask(this.#table.renew({ ...lease, hasLock: this.#hasLock, leaseMs: LEASE_MS }))
      this.#validUntilMs = isOurs ? askedAtMs + LEASE_MS : 0
      this.#isConnected = true
    } catch (error) {
      this.#fail(error)
    }
  }

  async #lose(why: string): Promise<void> {
    if (this.#lease === null) return
    this.#options.logger.warn({ epoch: this.#lease.epoch, why }, 'This engine no longer leads')
    this.#lease = null
    this.#validUntilMs = 0
    this.#seen = null
    await this.#options.follow(why)
  }

  async #dropLock(): Promise<void> {
    if (!this.#hasLock) return
    this.#hasLock = false
    await this.#ask(this.#table.unlock())
  }

  #unchangedMs(): number {
    return this.#options.clock.monotonicMs() - this.#unchangedSince.atMs
  }

  /** Treats a late response as a failure, because TCP would wait for a quarter of an hour. */
  #ask<Answer>(answer: Promise<Answer>): Promise<Answer> {
    return within(this.#options.clock, ANSWER_MS, answer, () => {
      this.#table.reset()
      throw new Error(`the database did not answer within ${ANSWER_MS} ms`)
    })
  }

  /** Nothing is certain while the database does not respond. Its next response shows the leader. */
  #loseConnection(): void {
    this.#isConnected = false
    this.#hasLock = false
    this.#validUntilMs = 0
    this.#seen = null
  }

  #fail(error: unknown): void {
    if (this.#isConnected) this.#options.logger.warn({ error }, 'the database does not say who leads')
    this.#loseConnection()
  }
}
