import { Worker } from 'node:worker_threads'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { threadFile } from '../../runtime/thread-task.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import { createNextEntry } from '../audit/audited-store.ts'
import type { Store } from '../store.ts'
import { Listeners } from '../sql/listeners.ts'
import { type JobRow, toJob } from '../sql/rows.ts'
import {
  receiveRows,
  type SentRows,
  type Calls,
  type FromWorker,
  receiveError,
  type SentError,
  type ToOpen,
  type Verb
} from './store-messages.ts'

/**
 * Calls that can be delayed. They record what attempts do, hundreds per second, and a claim may have to wait for each
 * of their commits. Delayed calls are committed together with the next claim.
 */
const PATIENT = new Set<Verb>(['applyChanges', 'markLogArchived', 'recordReadings'])
const PATIENCE_MS = 5
/**
 * The delay while calls keep arriving. Longer than PATIENCE_MS, because each commit rewrites the same pages (counters,
 * ends of logs).
 */
const PATIENCE_WHEN_BUSY_MS = 25

interface PendingCall {
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

/** Starts a thread that loads SQLite and waits for the message to open the database. Tests pass another `file`. */
export function startStoreThread(file: URL = threadFile(import.meta.url, 'store-worker')): Worker {
  return new Worker(file, { name: 'scrapdeck-store' })
}

/**
 * Runs the Store in a thread, so that neither commits nor long reads block the engine's event loop. The calls of one
 * turn are sent in one message. If the thread dies, every later call rejects with DATA_DIRECTORY_UNUSABLE.
 */
export async function openStoreInWorker(options: {
  path: string
  postgres?: PostgresAddress | null | undefined
  clock: Clock
  logger: Logger
  /** The thread exited, so the store can no longer be read or written. */
  onDeath?: () => void
  /** A write was rejected although it may have taken effect: the caller's state can differ from the database. */
  onUnknownCommit?: () => void
  thread?: Worker | null
}): Promise<Store> {
  const { path, clock, logger, onDeath } = options
  const worker = options.thread ?? startStoreThread()
  worker.ref()
  worker.postMessage({ path, postgres: options.postgres ?? null } satisfies ToOpen)
  const opened = Promise.withResolvers<readonly Verb[]>()
  const exited = Promise.withResolvers<void>()
  const waiting = new Map<number, PendingCall>()
  const changed = new Listeners<number>(logger)
  const queueChanged = new Listeners<string[]>(logger)
  let outbox: Calls = []
  const entries = createNextEntry()
  let patience: Timer | null = null
  let isSending = false
  let lastSentAtMs = Number.NEGATIVE_INFINITY
  let lastId = 0
  let failure: Error | null = null
  let closing: Promise<void> | null = null

  worker.on('message', receive)
  worker.on('error', (error) => fail(error.message))
  worker.on('exit', () => {
    // While closing, the thread may exit only after it has responded to `close`.
    if (closing === null || waiting.size > 0) fail('it ended')
    exited.resolve()
  })
  const verbs = await opened.promise
  // Only pending calls keep the process alive, as they do with a store in the caller's thread.
  if (waiting.size === 0) worker.unref()

  const asked = verbs.map((verb) => [verb, (...args: unknown[]) => ask(verb, args)])
  return {
    ...(Object.fromEntries(asked) as Store),
    getJobs: async (ids) => receiveJobs(await ask('getJobRows', [ids])),
    listJobs: async (filter, page) => receiveJobs(await ask('listJobRows', [filter, page])),
    withAudit: entries.withAudit,
    onChange: (listener) => changed.add(listener),
    onQueueChange: (listener) => queueChanged.add(listener),
    close() {
      closing ??= close()
      return closing
    }
  }

  async function close(): Promise<void> {
    try {
      if (failure === null) await call('close', [])
    } catch (error) {
      if (failure === null) throw error
    }
    // The thread has responded to `close`, but the process must stay alive until the thread has exited.
    worker.ref()
    await exited.promise
    changed.clear()
    queueChanged.clear()
  }

  async function ask(verb: Verb, args: unknown[]): Promise<unknown> {
    if (closing !== null) throw new ScrapdeckError('STOPPING', sentence('storage.store_stopping'))
    return call(verb, args)
  }

  function call(verb: Verb, args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (failure !== null) return reject(failure)
      lastId += 1
      if (waiting.size === 0) worker.ref()
      waiting.set(lastId, { resolve, reject })
      const entry = entries.take()
      outbox.push(entry === null ? [lastId, verb, args] : [lastId, verb, args, entry])
      if (isSending) return
      if (PATIENT.has(verb)) {
        patience ??= clock.setTimer(patienceMs(), send)
        return
      }
      isSending = true
      setImmediate(send)
    })
  }

  function patienceMs(): number {
    return Math.max(PATIENCE_MS, lastSentAtMs + PATIENCE_WHEN_BUSY_MS - clock.monotonicMs())
  }

  function send(): void {
    const calls = outbox
    lastSentAtMs = clock.monotonicMs()
    outbox = []
    isSending = false
    patience?.cancel()
    patience = null
    if (failure !== null) return
    try {
      worker.postMessage(calls)
    } catch (error) {
      // One of the calls cannot be serialized. Send each call alone, so that only this one fails.
      if (calls.length === 1) return answerCaller(calls[0]![0], ({ reject }) => reject(error))
      for (const each of calls) {
        outbox = [each]
        send()
      }
    }
  }

  function receive(message: FromWorker): void {
    if (message.kind === 'opened') return opened.resolve(message.verbs)
    if (message.kind === 'log') return logger[message.level](message.facts, message.text)
    if (message.kind === 'refused') {
      closing = exited.promise
      return opened.reject(receiveError(message.error))
    }
    if (message.lanes.length > 0) queueChanged.notify([...new Set(message.lanes)])
    if (message.cursor !== null) changed.notify(message.cursor)
    for (const answer of message.answers) {
      answerCaller(answer.id, ({ resolve, reject }) =>
        'error' in answer ? reject(refusal(answer.error)) : resolve(answer.value as never)
      )
    }
  }

  function refusal(sent: SentError): Error {
    const error = receiveError(sent)
    if (isScrapdeckError(error) && error.data['commit'] === 'unknown') options.onUnknownCommit?.()
    return error
  }

  function answerCaller(id: number, how: (caller: PendingCall) => void): void {
    const caller = waiting.get(id)
    waiting.delete(id)
    if (waiting.size === 0) worker.unref()
    if (caller !== undefined) how(caller)
  }

  function fail(reason: string): void {
    if (failure !== null) return
    failure = new ScrapdeckError(
      'DATA_DIRECTORY_UNUSABLE',
      sentence('storage.database_thread_exited', { path, reason })
    )
    logger.error({ path, reason }, 'The database thread has exited')
    onDeath?.()
    opened.reject(failure)
    for (const { reject } of waiting.values()) reject(failure)
    waiting.clear()
  }
}

const receiveJobs = (sent: unknown) => (receiveRows(sent as SentRows) as JobRow[]).map(toJob)
