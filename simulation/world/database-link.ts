import { ScrapdeckError } from '../../src/shared/errors.ts'
import type { FakeDatabase, Session } from '../../src/engine/leadership/testing/fake-database.ts'
import type { LeaseTable } from '../../src/engine/store/lease-table.ts'
import type { Chance } from './chance.ts'
import type { Life } from './life.ts'
import type { VirtualTime } from './time.ts'

/** What `postgres` waits for a connection. */
const CONNECT_MS = 5_000

interface LeaseConnection {
  session: Session
  /** Of the client. */
  isClosed: boolean
  pending: Set<(error: Error) => void>
}

/** The network between one engine and the database: that of its lease, and that of its store. */
export class DatabaseLink {
  /** Nothing gets through, in either direction. */
  isCut = false
  /** The next write takes effect, and its answer is lost with the connection. */
  losesNextCommit = false
  #connection: LeaseConnection | null = null
  #cutOff: LeaseConnection[] = []
  /** What waits for the network. `lost`: the connection ended first. */
  #held: { arrive: () => void; lose: () => void }[] = []
  readonly #parts: { life: Life; time: VirtualTime; database: FakeDatabase; chance: Chance }
  #onLost = () => {}

  /** `life`: of the process. */
  constructor(parts: { life: Life; time: VirtualTime; database: FakeDatabase; chance: Chance }) {
    this.#parts = parts
    parts.life.whenOver(() => this.loseLease())
  }

  /** Calls one of both once the network is there. */
  through(arrive: () => void, lose: () => void): void {
    if (this.isCut) this.#held.push({ arrive, lose })
    else arrive()
  }

  /** `resumes`: what was on its way arrives; otherwise the connections are gone. */
  heal(resumes: boolean): void {
    this.isCut = false
    for (const { session, isClosed } of this.#cutOff.splice(0)) if (isClosed) this.#parts.database.endSession(session)
    if (!resumes) this.loseLease()
    for (const { arrive, lose } of this.#held.splice(0)) (resumes ? arrive : lose)()
  }

  /** Both sides learn at once that the connection of the lease is closed. */
  loseLease(): void {
    const connection = this.#connection
    if (connection === null) return
    this.#connection = null
    this.#parts.database.endSession(connection.session)
    this.#close(connection)
  }

  openTable({ onLost }: { onLost: () => void }): LeaseTable {
    this.#onLost = onLost
    const { database } = this.#parts
    const nobodyAsks = () => Promise.reject(new Error('nobody asks this'))
    return {
      look: (options) => this.#ask((session) => database.look(session, options)),
      unlock: () => this.#ask((session) => database.unlock(session)),
      take: (claim) =>
        this.#ask((session) => {
          const epoch = database.take(claim)
          const former = database.lockedBy
          if (epoch !== null && former !== null && former !== session) database.endSession(former)
          return epoch
        }),
      renew: (lease) => this.#ask(() => database.renew(lease)),
      release: (lease) => this.#ask(() => database.release(lease)),
      beat: (engine) => this.#ask(() => database.beat(engine)),
      leave: (id) => this.#ask(() => database.leave(id)),
      reset: () => this.#reset(),
      close: async () => this.loseLease(),
      ...{ clientAddress: nobodyAsks, common: nobodyAsks, setDrained: nobodyAsks, list: nobodyAsks, terms: nobodyAsks }
    }
  }

  #ask<Answer>(statement: (session: Session) => Answer): Promise<Answer> {
    const { life, time, chance } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    if (this.#connection === null && this.isCut) {
      time.after(CONNECT_MS, () => life.run(() => reject(new Error('no connection within 5 s'))))
      return promise
    }
    const connection = (this.#connection ??= { session: { isOpen: true }, isClosed: false, pending: new Set() })
    connection.pending.add(reject)
    const lose = () => {}
    const answer = (value: Answer) => {
      const deliver = () => connection.pending.delete(reject) && life.run(() => resolve(value))
      time.after(chance.between(1, 20), () => this.through(deliver, lose))
    }
    const arrive = () => {
      if (connection.session.isOpen) return answer(statement(connection.session))
      // Ended by the server, as a new leader asks it to: the client learns it now.
      if (connection.isClosed) return
      if (this.#connection === connection) this.#connection = null
      this.#close(connection)
    }
    time.after(chance.between(1, 20), () => this.through(arrive, lose))
    return promise
  }

  #reset(): void {
    const connection = this.#connection
    if (connection === null) return
    this.#connection = null
    if (this.isCut) this.#cutOff.push(connection)
    else this.#parts.database.endSession(connection.session)
    this.#close(connection)
  }

  #close(connection: LeaseConnection): void {
    connection.isClosed = true
    const pending = [...connection.pending]
    connection.pending.clear()
    this.#parts.life.run(() => {
      for (const reject of pending) reject(new Error('the connection was closed'))
      this.#onLost()
    })
  }
}

/** As a store on PostgreSQL says it (postgres-error.ts). */
export const connectionLost = (): ScrapdeckError =>
  new ScrapdeckError('DATABASE_UNUSABLE', 'the database: the connection was lost. Scrapdeck connects again by itself.')
