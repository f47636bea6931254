import { EventEmitter } from 'node:events'
import { writeMasked } from '../../../shared/audit-mask.ts'
import type {
  AccessTokenId,
  AuditCheck,
  AuditDoor,
  AuditEntry,
  AuditFilter,
  AuditRecord
} from '../../../shared/contract/index.ts'
import { isScrapdeckError } from '../../../shared/errors.ts'
import { readableName } from '../../../shared/unseen.ts'
import { actAs } from '../acting.ts'
import type { Principal } from '../principal.ts'
import { type Clock, Timers } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Random } from '../../runtime/random.ts'
import type { AuditTicket } from '../../storage/audit/audited-store.ts'
import { ChainCheck } from '../../storage/audit/chain.ts'
import type { NewAuditRecord, StoredAuditEntry } from '../../model/records.ts'
import type { AuditStore } from '../../storage/store.ts'
import { targetsOf } from './targets.ts'

export interface RequestOrigin {
  door: AuditDoor
  /** null for this machine's own socket or window. */
  address: string | null
  requestId?: string
  /** A short id that cannot be used to log in. */
  session?: string | null
}

export interface Actor {
  principal: Principal | null
  claimedName?: string
  origin: RequestOrigin
}

export interface AuditedOperation {
  operation: string
  input: unknown
  /** If false, only failures due to a missing permission are recorded. */
  writes: boolean
  /** Whether to add an entry only if something changes. If so, the caller records failures. */
  onlyChanges?: boolean
  /** Returns the operation's response. By default, this is the result of the work. */
  answerOf?: (result: unknown) => unknown
}

export interface AuditParts {
  store: AuditStore
  clock: Clock
  random: Random
  logger: Logger
  tokenName: (id: AccessTokenId) => string | null
}

const INPUT_MAX = 1_000
const ENTRIES_AT_ONCE = 1_000
const REFUSALS: ReadonlySet<string> = new Set([
  ...[
    'ROLE_REQUIRED',
    'PASSWORD_REQUIRED',
    'SECOND_FACTOR_REQUIRED',
    'UNAUTHORIZED',
    'FORBIDDEN_ORIGIN',
    'TOO_MANY_REQUESTS'
  ]
])
/** Operations that are recorded before their work, because this engine may be unable to write afterwards. */
const RECORDED_FIRST: ReadonlySet<string> = new Set(['engines.handOver', 'engines.drain'])

/**
 * Writes one audit entry for each operation that a person or program performs. The entry is written in the transaction
 * of the operation's first write (storage/audit/audited-store.ts), or at the end if nothing is written.
 */
export class Audit {
  readonly #parts: AuditParts
  readonly #repeats: Repeats
  readonly events = new EventEmitter<{ recorded: [] }>()

  constructor(parts: AuditParts) {
    this.#parts = parts
    this.#repeats = new Repeats(parts.clock, (record) => this.#append(record))
  }

  stop(): Promise<void> {
    return this.#repeats.stop()
  }

  /** If `work` fails after changing something, a second entry records the failure. */
  async perform<T>(actor: Actor, audited: AuditedOperation, work: () => T): Promise<Awaited<T>> {
    const { operation, input, writes, onlyChanges = false, answerOf = (all) => all } = audited
    const { principal } = actor
    const origin = { ...actor.origin, requestId: actor.origin.requestId ?? this.newRequestId() }
    const given = { ...actor, origin }
    const ticket = new Ticket((facts) =>
      this.#recordOf(given, operation, facts === null ? input : { ...(input as object), ...facts }, null)
    )
    if (writes && RECORDED_FIRST.has(operation)) await this.#append(ticket.take()!)
    try {
      const result = await actAs(principal, work, writes ? ticket : null)
      const left = writes ? ticket.take() : null
      if (left !== null && !onlyChanges) {
        await (saysNothingChanged(answerOf(result)) ? this.#repeats.add(senderOf(given), left) : this.#append(left))
      } else if (writes && left === null) this.events.emit('recorded')
      return result
    } catch (error) {
      if (onlyChanges) throw error
      const code = codeOf(error)
      const wasWritten = ticket.take() === null
      if (wasWritten) await this.#append(this.#recordOf(given, operation, input, code))
      else if (writes || REFUSALS.has(code)) await this.refuse(given, { operation, input, code })
      throw error
    } finally {
      ticket.end()
    }
  }

  /**
   * Records a failed operation. Repeated failures of one sender are counted in one entry. `sender` defaults to the
   * address.
   */
  refuse(
    actor: Actor,
    { operation, input, code, sender }: { operation: string; input: unknown; code: string; sender?: string }
  ): Promise<void> {
    return this.#repeats.add(senderOf(actor, sender), this.#recordOf(actor, operation, input, code))
  }

  /** Records an event that is not an operation, such as a login. */
  record(actor: Actor, { operation, input }: { operation: string; input: unknown }): Promise<void> {
    return this.#append(this.#recordOf(actor, operation, input, null))
  }

  newRequestId(): string {
    return this.#parts.random.hex(8)
  }

  async list(
    filter: AuditFilter,
    page: { before: number | null; limit: number }
  ): Promise<{ entries: AuditEntry[]; nextBefore: number | null }> {
    const { entries, nextBefore } = await this.#parts.store.pageAudit(filter, page)
    return { entries: entries.map((entry) => toEntry(entry, entry.previousHash)), nextBefore }
  }

  /** Returns the entries after number `after`, oldest first. `nextAfter` null: fewer than `limit` entries are left. */
  async export(after: number, limit: number): Promise<{ entries: AuditEntry[]; nextAfter: number | null }> {
    const { store } = this.#parts
    const { deleted } = await store.auditChain()
    const from = Math.max(after, deleted.seq)
    // The previous entry is needed for its hash.
    const listed = await store.listAuditAfter(Math.max(from - 1, deleted.seq), limit + 1)
    const entries = listed.flatMap((entry, at) =>
      entry.seq <= from ? [] : [toEntry(entry, at === 0 ? deleted.hash : listed[at - 1]!.hash)]
    )
    return { entries: entries.slice(0, limit), nextAfter: entries.length < limit ? null : entries[limit - 1]!.seq }
  }

  /** Recomputes all hashes. `expect` is a hash that was stored elsewhere. */
  async verify(expect: string | null, signal?: AbortSignal): Promise<AuditCheck> {
    const { store } = this.#parts
    const { deleted, newest } = await store.auditChain()
    const check = new ChainCheck(deleted, expect)
    for (;;) {
      signal?.throwIfAborted()
      const entries = await store.listAuditAfter(check.lastSeq, ENTRIES_AT_ONCE)
      const wanted = entries.filter(({ seq }) => seq <= newest.seq)
      const fits = wanted.every((entry) => check.add(entry))
      if (!fits || wanted.length < ENTRIES_AT_ONCE) break
    }
    return { ...check.end(newest), head: { ...newest, deletedSeq: deleted.seq } }
  }

  #recordOf(
    { principal, claimedName = 'unknown', origin }: Actor,
    operation: string,
    input: unknown,
    code: string | null
  ): NewAuditRecord {
    const { tokenId = null } = principal ?? {}
    const given: unknown = typeof input === 'function' ? input() : input
    const { text, isCut } = writeMasked(given ?? null, INPUT_MAX)
    return {
      atMs: this.#parts.clock.nowMs(),
      who: {
        userId: principal?.userId ?? null,
        name: principal?.name ?? readableName(claimedName),
        role: principal?.role ?? null,
        tokenId,
        tokenName: tokenId === null ? null : this.#parts.tokenName(tokenId),
        session: origin.session ?? null
      },
      address: origin.address,
      door: origin.door,
      requestId: origin.requestId ?? this.newRequestId(),
      operation,
      ...targetsOf(operation, given),
      input: text,
      result: code === null ? 'done' : REFUSALS.has(code) ? 'refused' : 'failed',
      code,
      count: 1,
      isCut
    }
  }

  /** Never throws, because the operation is already complete. */
  async #append(record: NewAuditRecord): Promise<void> {
    try {
      await this.#parts.store.appendAudit(record)
      this.events.emit('recorded')
    } catch (error) {
      const { operation, who, result } = record
      const what = { err: error, operation, who: who.name, result }
      this.#parts.logger.error(what, 'An entry of the audit log could not be written')
    }
  }
}

class Ticket implements AuditTicket {
  readonly #make: (facts: object | null) => NewAuditRecord
  #facts: object | null = null
  #isTaken = false
  #hasEnded = false

  constructor(make: (facts: object | null) => NewAuditRecord) {
    this.#make = make
  }

  take(): NewAuditRecord | null {
    if (this.#isTaken) return null
    this.#isTaken = true
    return this.#make(this.#facts)
  }

  giveBack(): void {
    this.#isTaken = this.#hasEnded
  }

  add(facts: object): void {
    this.#facts = { ...this.#facts, ...facts }
  }

  /** Work that the operation started can continue, but its writes have no actor. */
  end(): void {
    this.#hasEnded = true
    this.#isTaken = true
  }
}

export const toEntry = ({ record, hash }: StoredAuditEntry, previousHash: string): AuditEntry => ({
  ...(JSON.parse(record) as AuditRecord),
  previousHash,
  hash
})

function senderOf({ principal, origin }: Actor, sender = origin.address): string {
  return `${sender}${principal === null ? '' : ` ${principal.userId ?? principal.name} ${principal.tokenId}`}`
}

/**
 * Whether the response shows that nothing changed, as `{ changed: [] }` does. Other responses do not rule out a change
 * outside the store.
 */
function saysNothingChanged(result: unknown): boolean {
  if (typeof result !== 'object' || result === null || Object.getPrototypeOf(result) !== Object.prototype) return false
  const values: unknown[] = Object.values(result)
  return values.length > 0 && values.every((value) => value === 0 || (Array.isArray(value) && value.length === 0))
}

function codeOf(error: unknown): string {
  if (isScrapdeckError(error)) return error.code
  const { code } = error as { code?: unknown }
  return code === 'BAD_REQUEST' ? 'BAD_INPUT' : 'INTERNAL'
}

const WINDOW_MS = 60_000
/**
 * The maximum number of combinations of sender, operation and error code per minute. Further failures are counted by
 * error code only.
 */
const KINDS_MAX = 300

/**
 * Limits the entries for repeated failures (same sender, operation and error code) and for repeated operations that
 * changed nothing. Writes two entries per minute: the first one, and one that counts the others. Clients that guess
 * passwords therefore cannot fill the disk.
 */
class Repeats {
  readonly #write: (record: NewAuditRecord) => Promise<void>
  readonly #timers: Timers
  readonly #counted = new Map<string, { last: NewAuditRecord; more: number }>()
  #window = false

  constructor(clock: Clock, write: (record: NewAuditRecord) => Promise<void>) {
    this.#write = write
    this.#timers = new Timers(clock)
  }

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

const ofMany = (record: NewAuditRecord): NewAuditRecord => ({
  ...record,
  operation: 'many',
  input: 'null',
  targets: [],
  moreTargets: 0,
  project: null,
  address: null,
  who: { userId: null, name: 'many senders', role: null, tokenId: null, tokenName: null, session: null }
})
