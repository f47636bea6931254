import type { NewAuditRecord } from '../../model/records.ts'
import { type Clock, Timers } from '../../runtime/clock.ts'

const WINDOW_MS = 60_000
/** Kinds of them in a minute; what comes on top is counted per operation only. */
const KINDS_MAX = 300

/**
 * Equal failures of the same sender within a minute, and equal operations that changed nothing, become two entries at
 * most: the first at once, and one that counts all that followed. So a client that guesses passwords, or repeats what
 * is refused or has no effect, cannot fill the disk.
 */
export class Repeats {
  readonly #write: (record: NewAuditRecord) => Promise<void>
  readonly #timers: Timers
  readonly #counted = new Map<string, { last: NewAuditRecord; more: number }>()
  #window = false

  constructor(clock: Clock, write: (record: NewAuditRecord) => Promise<void>) {
    this.#write = write
    this.#timers = new Timers(clock)
  }

  /** `sender`: whose failures are counted together. `make` is called only if the entry is needed. */
  async add(sender: string, record: NewAuditRecord): Promise<void> {
    const { operation, code } = record
    const exact = `${sender} ${operation} ${code}`
    const isKnown = this.#counted.has(exact)
    const isCrowded = !isKnown && this.#counted.size >= KINDS_MAX
    const kind = isCrowded ? `${code}` : exact
    const given = isCrowded ? ofMany(record) : record
    const before = this.#counted.get(kind)
    if (before !== undefined) {
      before.last = given
      before.more += 1
      return
    }
    this.#counted.set(kind, { last: given, more: 0 })
    if (!this.#window) {
      this.#window = true
      this.#timers.set(WINDOW_MS, () => void this.#endWindow())
    }
    await this.#write(given)
  }

  async stop(): Promise<void> {
    this.#timers.stop()
    await this.#endWindow()
  }

  async #endWindow(): Promise<void> {
    const ended = [...this.#counted.values()]
    this.#counted.clear()
    this.#window = false
    for (const { last, more } of ended) if (more > 0) await this.#write({ ...last, count: more })
  }
}

/** The entry of many senders: what they have in common. */
const ofMany = (record: NewAuditRecord): NewAuditRecord => ({
  ...record,
  ...{ operation: 'many', input: 'null', targets: [], moreTargets: 0, project: null, address: null },
  who: { userId: null, name: 'many senders', role: null, tokenId: null, tokenName: null, session: null }
})
