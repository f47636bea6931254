import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { dirname } from 'node:path'
import { systemClock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import { lockDirectory } from '../sqlite/directory-lock.ts'
import { openSqliteStoreHere } from '../sqlite/sqlite-store.ts'
import {
  type Answer,
  type Calls,
  type FromWorker,
  type RowStore,
  sendError,
  type ToOpen,
  type Verb
} from './store-messages.ts'

// The thread that runs the store. All writes that arrive during a commit form the next commit, so there are as many
// commits as the disk can handle, without further delay. The other end is store-thread.ts.

/** The maximum number of messages per batch, so that results are sent even while calls keep arriving. */
const MESSAGES_AT_ONCE_MAX = 256

const port = parentPort
if (port === null) throw new Error('store-worker.ts is started by store-thread.ts only')
const post = (message: FromWorker) => port.postMessage(message)
const log = (level: keyof Logger) => (facts: object, text: string) =>
  post({ kind: 'log', level, facts: JSON.parse(JSON.stringify(facts)) as object, text })
const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }

let flush: (() => void) | null = null
let lanes: string[] = []
let cursor: number | null = null

port.once('message', (first: ToOpen) => void serve(port, first))

async function serve(port: MessagePort, { path, postgres }: ToOpen): Promise<void> {
  try {
    const scheduleFlush = (wanted: () => void) => {
      flush = wanted
    }
    const options = { path, clock: systemClock, logger, scheduleFlush }
    const store = postgres === null ? await openSqliteStoreHere(options) : await openPostgres(postgres, options)
    store.onQueueChange((changed) => {
      // Push them one by one: a hundred thousand arguments are too many for one call.
      for (const lane of changed) lanes.push(lane)
    })
    store.onChange((newest) => {
      cursor = newest
    })

    const audited = <T>(audit: Calls[number][3], call: () => Promise<T>): Promise<T> =>
      audit === undefined ? call() : store.withAudit(audit, call)
    const answer = async ([id, verb, args, audit]: Calls[number]): Promise<Answer> => {
      try {
        const run = store[verb] as unknown as (...args: unknown[]) => Promise<unknown>
        return { id, value: await audited(audit, () => run(...args)) }
      } catch (error) {
        return { id, error: sendError(error) }
      }
    }

    port.on('message', (first: Calls) => {
      const calls = [...first]
      for (let count = 1; count < MESSAGES_AT_ONCE_MAX; count += 1) {
        const next = receiveMessageOnPort(port) as { message: Calls } | undefined
        if (next === undefined) break
        calls.push(...next.message)
      }
      const asked = calls.map(answer)
      const commit = flush
      flush = null
      commit?.()
      void Promise.all(asked).then((answers) => {
        post({ kind: 'answers', answers, lanes, cursor })
        lanes = []
        cursor = null
        if (calls.some(([, verb]) => verb === 'close')) port.close()
      })
    })
    post({ kind: 'opened', verbs: Object.keys(store) as Verb[] })
  } catch (error) {
    post({ kind: 'refused', error: sendError(error) })
    port.close()
  }
}

type Opening = Parameters<typeof openSqliteStoreHere>[0]

/** Also locks the data directory, because its other files belong to one engine, whatever the database. */
async function openPostgres(address: PostgresAddress, { path, ...options }: Opening): Promise<RowStore> {
  const { openPostgresStoreHere } = await import('../postgres/postgres-store.ts')
  const lock = lockDirectory(dirname(path))
  try {
    const store = await openPostgresStoreHere({ address, ...options })
    return { ...store, close: () => store.close().finally(() => lock.release()) }
  } catch (error) {
    lock.release()
    throw error
  }
}
