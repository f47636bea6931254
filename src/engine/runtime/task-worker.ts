import { parentPort, workerData } from 'node:worker_threads'
import { isScrapdeckError } from '../../shared/errors.ts'
import { sentError, type TaskAnswer } from './thread-task.ts'
import type { PoolOrder, PoolReply, PoolStart } from './thread-pool.ts'

export async function serveTask<Input>(perform: (input: Input) => unknown): Promise<void> {
  if (parentPort === null) throw new Error('This module is started as a thread only (thread-task.ts)')
  parentPort.postMessage(await answerOf(() => perform(workerData as Input)))
}

/** Returns the result or error of `perform` in a form that can be sent to another thread. */
export async function answerOf(perform: () => unknown): Promise<TaskAnswer> {
  try {
    return { value: await perform() }
  } catch (error) {
    if (isScrapdeckError(error)) return { error: sentError(error) }
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

export interface TaskContext {
  emit: (part: unknown) => void
  /** If true, the result is no longer needed, so the task should end soon with any result. */
  isStopped: () => boolean
}

type Tasks = Record<string, (input: never, context: TaskContext) => unknown>

/** The other end of a ThreadPool. Performs tasks one after another. */
export function servePool(tasks: Tasks): void {
  if (parentPort === null) throw new Error('This module is started as a thread only (thread-pool.ts)')
  const port = parentPort
  const { stop } = workerData as PoolStart
  port.on('message', (order: PoolOrder) => void (order.task === null ? port.close() : perform(order)))

  async function perform({ task, input }: Exclude<PoolOrder, { task: null }>): Promise<void> {
    const context: TaskContext = {
      emit: (part) => port.postMessage({ part } satisfies PoolReply),
      isStopped: () => Atomics.load(stop, 0) === 1
    }
    port.postMessage({ answer: await answerOf(() => tasks[task]!(input as never, context)) } satisfies PoolReply)
  }
}
