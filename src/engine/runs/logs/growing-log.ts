import type { Clock, Timer } from '../../runtime/clock.ts'
import type { LogBytes, WantedBytes } from '../../runtime/byte-window.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'

export interface LogSource {
  /** Resolves to null if there is no log (yet). */
  read(range: WantedBytes, signal?: AbortSignal): Promise<LogBytes | null>
  /** Calls back soon after each write, until the returned function is called. Absent: no notifications. */
  watch?(onChange: () => void): () => void
  /** Read intervals: `busy` while lines arrive, at most `quiet` while none do. */
  pollMs: { busy: number; quiet: number }
}

/** Intervals for local files. Some file systems (network shares) send no events, so files are polled too. */
export const LOCAL_POLL_MS = { busy: 100, quiet: 500 }
/** Intervals over HTTP. Viewers see a line within half a second. */
export const REMOTE_POLL_MS = { busy: 250, quiet: 400 }

/**
 * The size of the newest part that is read once for all followers. Followers that are further behind read separately.
 */
const WINDOW_BYTES = 1_048_576
/** The minimum interval between reads of a file that changes all the time. */
const EVENT_GAP_MS = 10
const FRESH_MS = 5
const NO_BYTES = Buffer.alloc(0)

interface Waiter {
  seenBytes: number
  wake: (error?: unknown) => void
}

/** The end of a log, read once for all followers, and only while one of them waits for more. */
export class GrowingLog {
  readonly #source: LogSource
  readonly #clock: Clock
  readonly #waiters = new Set<Waiter>()
  #window: { offset: number; bytes: Buffer; fileId: string | undefined } | null = null
  #endBytes = 0
  #sizeBytes = 0
  readonly #reading = new SingleFlight()
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #pollMs: number
  #timer: Timer | null = null
  #unwatch: (() => void) | null = null
  #hasNews = false

  constructor(source: LogSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
    this.#pollMs = source.pollMs.busy
  }

  async read(range: WantedBytes, signal?: AbortSignal): Promise<LogBytes | null> {
    const held = this.#fromWindow(range)
    if (held !== null) return held
    if (this.#window === null || range.offset !== this.#endBytes) return this.#source.read(range, signal)
    await this.#readOn()
    return this.#fromWindow(range) ?? this.#source.read(range, signal)
  }

  /**
   * Resolves when the log no longer has the size that the caller saw. For a quiet log, also resolves after each
   * poll, so that the caller can check whether the run is still alive. Rejects if the log cannot be read.
   */
  waitForNews(seenBytes: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted || (this.#window !== null && seenBytes < this.#sizeBytes)) return resolve()
      const waiter: Waiter = {
        seenBytes,
        wake: (error) => {
          this.#waiters.delete(waiter)
          signal?.removeEventListener('abort', stop)
          if (this.#waiters.size === 0) this.#timer?.cancel()
          if (error === undefined) resolve()
          else reject(error)
        }
      }
      const stop = () => waiter.wake()
      signal?.addEventListener('abort', stop)
      this.#waiters.add(waiter)
      if (this.#waiters.size === 1) this.#begin(seenBytes)
    })
  }

  close(): void {
    this.#timer?.cancel()
    this.#unwatch?.()
    this.#unwatch = null
  }

  #fromWindow({ offset, limitBytes }: WantedBytes): LogBytes | null {
    const window = this.#window
    if (window === null || offset < window.offset || offset > this.#endBytes) return null
    if (offset === this.#endBytes && this.#clock.monotonicMs() - this.#lookedAtMs > FRESH_MS) return null
    const bytes = window.bytes.subarray(offset - window.offset, offset - window.offset + limitBytes)
    return { offset, sizeBytes: this.#sizeBytes, bytes, fileId: window.fileId }
  }

  #begin(seenBytes: number): void {
    // If there were no followers for a while, the last read can be far behind.
    if (this.#window === null || seenBytes > this.#endBytes) {
      this.#window = null
      this.#endBytes = seenBytes
    }
    this.#unwatch ??= this.#source.watch?.(() => this.#onEvent()) ?? null
    this.#schedule(this.#hasNews ? EVENT_GAP_MS : this.#pollMs)
  }

  #onEvent(): void {
    // A read is due already. A file that changes all the time must not postpone it.
    if (this.#hasNews) return
    this.#hasNews = true
    if (this.#waiters.size > 0 && this.#reading.running === null) this.#schedule(EVENT_GAP_MS)
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel()
    this.#timer = this.#clock.setTimer(delayMs, () => void this.#look())
  }

  async #look(): Promise<void> {
    this.#timer = null
    this.#hasNews = false
    let error: unknown
    await this.#readOn().catch((caught: unknown) => {
      error = caught
    })
    // Wakes every waiter, because each one also checks whether the run is still alive.
    for (const waiter of [...this.#waiters]) waiter.wake(error)
  }

  #readOn(): Promise<void> {
    return this.#reading.run(() => this.#readNext())
  }

  async #readNext(): Promise<void> {
    const { busy, quiet } = this.#source.pollMs
    const range = await this.#source.read({ offset: this.#endBytes, limitBytes: WINDOW_BYTES })
    this.#lookedAtMs = this.#clock.monotonicMs()
    this.#pollMs = range !== null && this.#take(range) ? busy : Math.min(quiet, this.#pollMs * 1.5)
  }

  #take(range: LogBytes): boolean {
    const fileBefore = this.#window?.fileId
    const isOther = fileBefore !== undefined && range.fileId !== undefined && fileBefore !== range.fileId
    const sizeBefore = this.#sizeBytes
    this.#sizeBytes = range.sizeBytes
    if (isOther || range.offset !== this.#endBytes) {
      this.#window = null
      this.#endBytes = range.sizeBytes
      return true
    }
    this.#endBytes += range.bytes.length
    const keptBytes = Math.max(0, WINDOW_BYTES - range.bytes.length)
    const before = this.#window?.bytes ?? NO_BYTES
    const bytes = Buffer.concat([before.subarray(Math.max(0, before.length - keptBytes)), range.bytes])
    this.#window = { offset: this.#endBytes - bytes.length, bytes, fileId: range.fileId }
    return range.bytes.length > 0 || range.sizeBytes !== sizeBefore
  }
}

export class GrowingLogs {
  readonly #clock: Clock
  readonly #logs = new Map<string, { log: GrowingLog; followers: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The caller must call `release`. */
  use(key: string, source: LogSource): { log: GrowingLog; release: () => void } {
    const entry = this.#logs.get(key) ?? { log: new GrowingLog(source, this.#clock), followers: 0 }
    this.#logs.set(key, entry)
    entry.followers += 1
    const release = () => {
      entry.followers -= 1
      if (entry.followers > 0) return
      this.#logs.delete(key)
      entry.log.close()
    }
    return { log: entry.log, release }
  }
}
