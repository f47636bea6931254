import { ScrapdeckError } from '../../src/shared/errors.ts'
import { FakeDatabase } from '../../src/engine/cluster/leadership/testing/fake-database.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { createNextEntry } from '../../src/engine/storage/audit/audited-store.ts'
import type { NewAuditEntry } from '../../src/engine/model/records.ts'
import type { Lease } from '../../src/engine/storage/lease-table.ts'
import { openSqliteStoreHere } from '../../src/engine/storage/sqlite/sqlite-store.ts'
import type { Store } from '../../src/engine/storage/store.ts'
import type { Clock } from '../../src/engine/runtime/clock.ts'
import { type Disk, diskFull, READS, type StoreWitness } from './disk.ts'
import { connectionLost, type DatabaseLink } from './database-link.ts'
import { passesFence } from './fence.ts'
import { type Life, noAnswer } from './life.ts'
import type { VirtualTime } from './time.ts'

type Method = (...parameters: unknown[]) => Promise<unknown>

/**
 * The one database of several engines: the lease's rows and lock, and a real SQLite store behind a fence like
 * PostgreSQL's (begin_write). Each write of a leader carries its lease and is refused when another engine leads.
 */
export class SharedDatabase {
  readonly lease: FakeDatabase
  readonly #parts: { time: VirtualTime; disk: Disk; witness: StoreWitness }
  #store: Store | null = null
  #opening: Promise<void> = Promise.resolve()

  constructor(parts: { time: VirtualTime; disk: Disk; witness: StoreWitness }) {
    this.#parts = parts
    this.lease = new FakeDatabase(() => parts.time.nowMs)
  }

  /** The store without any guards, for the checker. */
  get store(): Store {
    return this.#store!
  }

  isCurrent({ holder, epoch }: Lease): boolean {
    const { lease } = this.lease
    return lease.holder === holder && lease.epoch === epoch
  }

  /** Opens a store for a new leader. It shares no memory with the store of the previous leader. */
  open(clock: Clock): Promise<void> {
    this.#parts.time.busy += 1
    this.#opening = this.#opening
      .then(async () => {
        await this.#store?.close()
        const path = this.#parts.disk.databasePath
        this.#store = await openSqliteStoreHere({ path, clock, logger: silentLogger })
      })
      .finally(() => {
        this.#parts.time.busy -= 1
      })
    return this.#opening
  }

  async close(): Promise<void> {
    await this.#opening
    await this.#store?.close()
    this.#store = null
  }

  /** The store as the leader of one term sees it, over its own connection. `life` is the life of this term. */
  connect(life: Life, lease: Lease, link: DatabaseLink, onUnknownCommit: () => void): Store {
    const { time, disk, witness } = this.#parts
    const store = this.#store!
    const verbs = store as unknown as Record<string, Method | undefined>
    const entries = createNextEntry()
    let waiting: { isWrite: boolean; send: () => void }[] = []
    let diesAtFlush = false
    let losesAnswers = false

    const flush = () => {
      const asked = waiting
      waiting = []
      time.busy -= asked.length
      if (life.isOver) return
      losesAnswers = link.losesNextCommit && asked.some(({ isWrite }) => isWrite)
      if (losesAnswers) link.losesNextCommit = false
      for (const { send } of asked) send()
      if (diesAtFlush) life.die()
    }

    const ask = (method: string, parameters: unknown[], isWrite: boolean): Promise<unknown> => {
      const counted = life.count(`store.${method}`)
      if (counted === 'refused') return noAnswer()
      if (counted === 'last') diesAtFlush = true
      if (method === 'beginAttempts') {
        link.onClaim?.()
        link.onClaim = null
      }
      const entry = isWrite ? entries.take() : null
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      const lost = () => life.run(() => reject(connectionLost()))
      // The write had no effect. It is still reported to the checker, because the engine knows what it wanted to write.
      const never = () => {
        if (isWrite) witness(`${method} refused`, parameters, null)
        lost()
      }
      // The write took effect, but the engine cannot know that.
      const unknown = () => {
        life.run(onUnknownCommit)
        lost()
      }
      const arrive = () => {
        if (life.isOver) return
        if (isWrite && disk.isFull) {
          witness(`${method} refused`, parameters, null)
          return life.run(() => reject(diskFull(disk.databasePath)))
        }
        if (isWrite && !passesFence(lease, this.lease.lease)) return life.run(() => reject(anotherLeads()))
        const isAnswerLost = isWrite && losesAnswers
        void this.#carryOut(method, parameters, entry).then(
          (answer) => {
            if (isAnswerLost) return unknown()
            link.back(() => life.run(() => resolve(answer)), isWrite ? unknown : lost)
          },
          (error: unknown) => link.back(() => life.run(() => reject(error)), lost)
        )
      }
      if (waiting.length === 0) setImmediate(flush)
      time.busy += 1
      waiting.push({ isWrite, send: () => link.through(arrive, never) })
      return promise
    }

    return new Proxy(store, {
      get: (_target, property) => {
        const value: unknown = Reflect.get(store, property)
        if (typeof value !== 'function' || typeof property !== 'string') return value
        if (property === 'onChange' || property === 'onQueueChange') {
          return (listener: (news: unknown) => void) =>
            value.call(store, (news: unknown) => life.run(() => listener(news)))
        }
        if (property === 'withAudit') return entries.withAudit
        if (property === 'close') return async () => {}
        if (verbs[property] === undefined) return undefined
        return (...parameters: unknown[]) => ask(property, parameters, !READS.test(property))
      }
    })
  }

  async #carryOut(method: string, parameters: unknown[], entry: NewAuditEntry | null): Promise<unknown> {
    const { time, witness } = this.#parts
    time.busy += 1
    try {
      await this.#opening
      const store = this.#store!
      const call = () => (store as unknown as Record<string, Method>)[method]!(...parameters)
      const answer = await (entry === null ? call() : store.withAudit(entry, call))
      witness(method, parameters, answer)
      return answer
    } finally {
      time.busy -= 1
    }
  }
}

/** The error of a store on PostgreSQL (postgres-error.ts). */
const anotherLeads = (): ScrapdeckError =>
  new ScrapdeckError('NOT_LEADER', 'Another engine leads now. Nothing was changed; repeat the request.')
