import { parentPort, workerData } from 'node:worker_threads'
import { isScrapdeckError } from '../../shared/errors.ts'
import type { TaskAnswer } from './thread-task.ts'

/** The other end of runInThread: performs the task that this thread was started for. */
export async function serveTask<Input>(perform: (input: Input) => unknown): Promise<void> {
  if (parentPort === null) throw new Error('This module is started as a thread only (thread-task.ts)')
  parentPort.postMessage(await answerOf(() => perform(workerData as Input)))
}

/** What `perform` returns or throws, as it can be sent to another thread. */
export async function answerOf(perform: () => unknown): Promise<TaskAnswer> {
  try {
    return { value: await perform() }
  } catch (error) {
    if (isScrapdeckError(error)) return { error: { code: error.code, message: error.message } }
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
