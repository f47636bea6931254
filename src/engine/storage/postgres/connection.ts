import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { threadFile } from '../../runtime/thread-task.ts'
import type {
  ConnectionData,
  ConnectionOptions,
  Outcome,
  PostgresFailure,
  Query,
  ToConnection
} from './connection-messages.ts'
import { PostgresError } from './postgres-error.ts'

/**
 * The maximum number of queries that wait to be sent together. PostgreSQL runs them while the next ones are prepared.
 */
const SENT_AT_ONCE = 64

/** A query that was sent, or that will be sent with the next query whose result is read. */
export interface Sent {
  /** Waits for the result. Throws PostgresError. */
  result(): { rows: unknown[][]; columns: string[]; changes: number }
}

/**
 * A synchronous connection. The store's parts use no promises, because SQLite needs none, so the store's thread waits
 * for PostgreSQL. Queries whose result is not read are pipelined: a write has as many round trips as reads.
 */
export class Connection {
  #worker: Worker
  #port: MessagePort
  readonly #options: ConnectionOptions & { file: URL }
  readonly #answered = new Int32Array(new SharedArrayBuffer(4))
  readonly #answerSeconds: number
  #queued: Query[] = []
  #cause: PostgresFailure | null = null
  #open: SentQuery[] = []

  /** `answerSeconds`: how long to wait for a response. Must be longer than the server's limit for a query. */
  constructor(options: ConnectionOptions & { answerSeconds: number; file?: URL }) {
    const { file = threadFile(import.meta.url, 'connection-thread'), answerSeconds, ...rest } = options
    this.#answerSeconds = answerSeconds
    this.#options = { ...rest, file }
    ;[this.#worker, this.#port] = this.#start()
  }

  send(query: Query): Sent {
    if (query.isInTransaction !== true) this.#cause = null
    const sent = new SentQuery(this)
    this.#queued.push(query)
    this.#open.push(sent)
    if (this.#queued.length >= SENT_AT_ONCE) this.#post()
    return sent
  }

  /**
   * Waits for everything that was sent. Throws the transaction's first failure even if it was already thrown,
   * because PostgreSQL then responds to COMMIT with a silent rollback.
   */
  settle(): void {
    this.receive()
    if (this.#cause !== null) throw new PostgresError(this.#cause)
  }

  /** Discards all results and failures. Call this after a rollback. */
  forget(): void {
    if (this.#open.length > 0) this.receive()
    this.#cause = null
  }

  end(): void {
    this.#port.postMessage({ kind: 'end' } satisfies ToConnection)
  }

  causeOf(failure: PostgresFailure): PostgresFailure {
    return failure.code === TRANSACTION_ABORTED ? (this.#cause ?? failure) : failure
  }

  #start(): [Worker, MessagePort] {
    const { file, ...options } = this.#options
    const { port1, port2 } = new MessageChannel()
    const workerData: ConnectionData = { ...options, answered: this.#answered, port: port2 }
    const worker = new Worker(file, { workerData, transferList: [port2], name: 'scrapdeck-postgres' })
    worker.unref()
    return [worker, port1]
  }

  #restart(): void {
    void this.#worker.terminate()
    ;[this.#worker, this.#port] = this.#start()
  }

  #post(): void {
    if (this.#queued.length === 0) return
    this.#port.postMessage({ kind: 'queries', queries: this.#queued } satisfies ToConnection)
    this.#queued = []
  }

  receive(): void {
    if (this.#open.length === 0) return
    const before = Atomics.load(this.#answered, 0)
    this.#post()
    this.#port.postMessage({ kind: 'answer' } satisfies ToConnection)
    const open = this.#open
    this.#open = []
    const result = Atomics.wait(this.#answered, 0, before, this.#answerSeconds * 1_000)
    // Reconnect. Otherwise, a late response would be taken for the response to the next query.
    if (result === 'timed-out') this.#restart()
    const outcomes = result === 'timed-out' ? undefined : (receiveMessageOnPort(this.#port)?.message as Outcome[])
    open.forEach((sent, index) => {
      const outcome = outcomes?.[index] ?? NO_ANSWER
      if ('failure' in outcome && outcome.failure.code !== TRANSACTION_ABORTED) this.#cause ??= outcome.failure
      sent.settle(outcome)
    })
  }
}

/** The SQLSTATE after a failed statement: https://www.postgresql.org/docs/current/errcodes-appendix.html. */
const TRANSACTION_ABORTED = '25P02'

const NO_ANSWER: Outcome = {
  failure: { code: 'NO_ANSWER', message: 'PostgreSQL did not answer in time', detail: null, constraint: null }
}

class SentQuery implements Sent {
  readonly #connection: Connection
  #outcome: Outcome | null = null

  constructor(connection: Connection) {
    this.#connection = connection
  }

  settle(outcome: Outcome): void {
    this.#outcome = outcome
  }

  result() {
    if (this.#outcome === null) this.#connection.receive()
    const outcome = this.#outcome!
    if ('failure' in outcome) throw new PostgresError(this.#connection.causeOf(outcome.failure))
    return outcome
  }
}
