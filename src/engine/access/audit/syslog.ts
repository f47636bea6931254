import { EventEmitter } from 'node:events'
import { type Clock, Timers } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { SyslogAddress } from '../../runtime/syslog-address.ts'
import type { AuditStore, SettingStore } from '../../storage/store.ts'
import { toEntry } from './audit.ts'
import { openSyslog, type SyslogConnection, formatSyslog } from './syslog-connection.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'

export interface SyslogParts {
  store: AuditStore & SettingStore
  clock: Clock
  logger: Logger
  address: SyslogAddress
  hostName: string
}

export interface SyslogAway {
  address: string
  reason: string
  sinceMs: number
}

const CURSOR = 'audit.syslogSeq'
const ENTRIES_AT_ONCE = 200
const SEND_AFTER_MS = 100
const LOOK_EVERY_MS = 30_000
/**
 * A syslog server sends no acknowledgements. Entries count as received if the connection still exists this long after
 * they are sent.
 */
const SETTLED_AFTER_MS = 1_000
const RETRY_FIRST_MS = 1_000
const RETRY_MAX_MS = 60_000

/**
 * Sends the audit log to a syslog server, in order. Continues after a restart. Delivers each entry at least once:
 * entries that a broken connection may have lost are sent again.
 */
export class SyslogStream {
  readonly #parts: SyslogParts
  readonly #timers: Timers
  #connection: SyslogConnection | null = null
  /** The next start continues after this entry. null: not read yet. */
  #settledSeq: number | null = null
  #sentSeq = 0
  #unsettled: { seq: number; sentAtMs: number }[] = []
  #retryMs = RETRY_FIRST_MS
  #away: SyslogAway | null = null
  readonly events = new EventEmitter<{ changed: [] }>()
  #isDue = false
  readonly #sending = new SingleFlight()
  #isStopped = false

  constructor(parts: SyslogParts) {
    this.#parts = parts
    this.#timers = new Timers(parts.clock)
  }

  start(): void {
    this.wake()
    this.#timers.set(LOOK_EVERY_MS, () => this.start())
  }

  away(): SyslogAway | null {
    return this.#away
  }

  wake(): void {
    if (this.#isDue || this.#isStopped) return
    this.#isDue = true
    this.#timers.set(this.#away !== null ? this.#retryMs : SEND_AFTER_MS, () => {
      this.#isDue = false
      void this.#sending.run(() => this.#send())
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timers.stop()
    this.#connection?.close()
    await this.#sending.running
    this.#connection?.close()
  }

  async #send(): Promise<void> {
    const { logger, address, clock } = this.#parts
    const where = `${address.transport}://${address.host}:${address.port}`
    try {
      this.#settledSeq ??= await this.#readCursor()
      await this.#settle()
      while (!this.#isStopped && (await this.#sendSome()));
      if (this.#away !== null) logger.info({ address: where }, 'The syslog server takes the audit log again')
      this.#setAway(null)
      this.#retryMs = RETRY_FIRST_MS
      if (this.#unsettled.length > 0) this.#timers.set(SETTLED_AFTER_MS, () => this.wake())
    } catch (error) {
      if (this.#isStopped) return
      this.#connection?.close()
      this.#connection = null
      this.#unsettled = []
      if (this.#away === null) {
        const what = 'The audit log cannot be sent to the syslog server. Its entries are kept, and sent when it is back'
        logger.warn({ err: error, address: where }, what)
        this.#setAway({ address: where, reason: (error as Error).message, sinceMs: clock.nowMs() })
      } else this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS)
      this.wake()
    }
  }

  #setAway(away: SyslogAway | null): void {
    if (away === this.#away) return
    this.#away = away
    this.events.emit('changed')
  }

  async #sendSome(): Promise<boolean> {
    const { store, clock, address, hostName } = this.#parts
    if (this.#connection?.isOpen !== true) {
      this.#unsettled = []
      this.#sentSeq = this.#settledSeq!
    }
    const { deleted } = await store.auditChain()
    const after = Math.max(this.#sentSeq, deleted.seq)
    // The previous entry is needed for its hash.
    const listed = await store.listAuditAfter(Math.max(after - 1, deleted.seq), ENTRIES_AT_ONCE)
    const messages = listed.flatMap((entry, at) => {
      if (entry.seq <= after) return []
      const previousHash = at === 0 ? deleted.hash : listed[at - 1]!.hash
      return [formatSyslog(toEntry(entry, previousHash), hostName)]
    })
    if (messages.length === 0) return false
    if (this.#connection?.isOpen !== true) this.#connection = await openSyslog(address, clock)
    await this.#connection.send(messages)
    this.#sentSeq = listed.at(-1)!.seq
    this.#unsettled.push({ seq: this.#sentSeq, sentAtMs: clock.monotonicMs() })
    return listed.length === ENTRIES_AT_ONCE
  }

  /** Throws if the connection is broken. The caller then sends unconfirmed entries again. */
  async #settle(): Promise<void> {
    if (this.#unsettled.length === 0) return
    if (this.#connection?.isOpen !== true) throw new Error('The server closed the connection')
    const untilMs = this.#parts.clock.monotonicMs() - SETTLED_AFTER_MS
    const settled = this.#unsettled.filter(({ sentAtMs }) => sentAtMs <= untilMs)
    const last = settled.at(-1)
    if (last === undefined) return
    this.#unsettled = this.#unsettled.slice(settled.length)
    this.#settledSeq = last.seq
    await this.#parts.store.putSetting(CURSOR, last.seq)
  }

  /**
   * A database that was restored from a backup can have fewer entries than were sent. In that case, all entries are
   * sent again.
   */
  async #readCursor(): Promise<number> {
    const { store } = this.#parts
    const [seq, { newest, deleted }] = await Promise.all([store.getSetting(CURSOR), store.auditChain()])
    return seq === null || seq > newest.seq ? deleted.seq : seq
  }
}
