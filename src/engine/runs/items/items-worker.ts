import { sentError } from '../../runtime/thread-task.ts'
import { parentPort, workerData } from 'node:worker_threads'
import { isScrapdeckError } from '../../../shared/errors.ts'
import type { FromReader, ToReader } from './messages.ts'
import { createItemsServer } from './serve-items.ts'

// The child side of ItemsProcess. Only a child process may load DuckDB: a crash there does not end the engine.

const port = parentPort
const send: (message: FromReader) => void =
  port === null ? (message) => void process.send?.(message) : (message) => port.postMessage(message)
const running = new Map<number, AbortController>()
const server = createItemsServer(port === null, (workerData as { whyNot?: string } | null)?.whyNot ?? null)

const PROGRESS_EVERY_MS = 200

async function serve(message: ToReader): Promise<void> {
  if ('abort' in message) return running.get(message.abort)?.abort()
  const { id, call, input } = message
  const controller = new AbortController()
  running.set(id, controller)
  let reportedAtMs = 0
  const onProgress = (share: number): void => {
    if (performance.now() - reportedAtMs < PROGRESS_EVERY_MS) return
    reportedAtMs = performance.now()
    send({ id, share })
  }
  try {
    const perform = server[call] as (input: unknown, context: object) => Promise<unknown>
    send({ id, value: await perform(input, { signal: controller.signal, onProgress }) })
  } catch (error) {
    if (isScrapdeckError(error)) send({ id, error: sentError(error) })
    else send({ id, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  } finally {
    running.delete(id)
  }
}

if (port === null) {
  process.on('message', (message: ToReader) => void serve(message))
  process.on('disconnect', () => process.exit())
} else {
  port.on('message', (message: ToReader) => void serve(message))
}
