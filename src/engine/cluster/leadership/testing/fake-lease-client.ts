import type { LeaseTable } from '../../../storage/lease-table.ts'
import type { FakeDatabase, Session } from './fake-database.ts'

/** How long the `postgres` client waits for a connection. */
const CONNECT_MS = 5_000
const REFUSED_MS = 40

interface Surroundings {
  database: FakeDatabase
  isDatabaseUp: () => boolean
  /** Runs the callback in the engine's process: later if the process is stalled, never after its death. */
  run: (callback: () => void) => void
  after: (delayMs: number, callback: () => void) => void
  onItsWayMs: () => number
}

interface Connection {
  session: Session
  isClosed: boolean
  held: (() => void)[]
  pending: Set<(error: Error) => void>
}

export class FakeLeaseClient {
  isCut = false
  readonly #around: Surroundings
  #connection: Connection | null = null
  #cutOff: Connection[] = []
  #onLost = () => {}

  constructor(around: Surroundings) {
    this.#around = around
  }

  /** If `resumes` is true, messages in flight arrive; otherwise, the connections are lost. */
  heal({ resumes }: { resumes: boolean }): void {
    this.isCut = false
    const connections = [...this.#cutOff, ...(this.#connection === null ? [] : [this.#connection])]
    this.#cutOff = []
    if (!resumes) this.lose()
    for (const { held, isClosed, session } of connections) {
      const arriving = held.splice(0)
      if (resumes) for (const arrive of arriving) arrive()
      if (isClosed) this.#around.database.endSession(session)
    }
  }

  lose(): void {
    const connection = this.#connection
    if (connection === null) return
    this.#connection = null
    this.#around.database.endSession(connection.session)
    this.#close(connection)
  }

  openTable({ onLost }: { onLost: () => void }): LeaseTable {
    this.#onLost = onLost
    const { database } = this.#around
    const nobodyAsks = () => Promise.reject(new Error('not used in tests'))
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
      close: async () => this.lose(),
      clientAddress: nobodyAsks,
      common: nobodyAsks,
      setDrained: nobodyAsks,
      list: nobodyAsks,
      terms: nobodyAsks
    }
  }

  #ask<Answer>(statement: (session: Session) => Answer): Promise<Answer> {
    const { after, run, isDatabaseUp, onItsWayMs } = this.#around
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const refuse = (delayMs: number, why: string) => after(delayMs, () => run(() => reject(new Error(why))))
    if (!isDatabaseUp()) {
      refuse(REFUSED_MS, 'refused')
      return promise
    }
    if (this.#connection === null && this.isCut) {
      refuse(CONNECT_MS, 'no connection within 5 s')
      return promise
    }
    const connection = (this.#connection ??= {
      session: { isOpen: true },
      isClosed: false,
      held: [],
      pending: new Set()
    })
    connection.pending.add(reject)
    const send = (arrive: () => void) =>
      after(onItsWayMs(), () => (this.isCut ? void connection.held.push(arrive) : arrive()))
    send(() => {
      if (connection.session.isOpen) {
        const answer = statement(connection.session)
        send(() => connection.pending.delete(reject) && run(() => resolve(answer)))
      } else if (!connection.isClosed) {
        // The server ended the connection at the request of a new leader. The client notices now.
        if (this.#connection === connection) this.#connection = null
        this.#close(connection)
      }
    })
    return promise
  }

  #reset(): void {
    const connection = this.#connection
    if (connection === null) return
    this.#connection = null
    if (this.isCut) this.#cutOff.push(connection)
    else this.#around.database.endSession(connection.session)
    this.#close(connection)
  }

  #close(connection: Connection): void {
    connection.isClosed = true
    const pending = [...connection.pending]
    connection.pending.clear()
    this.#around.run(() => {
      for (const reject of pending) reject(new Error('the connection was closed'))
      this.#onLost()
    })
  }
}
