import { parentPort, workerData } from 'node:worker_threads'
import { answerOf } from './task-worker.ts'
import type { PoolOrder, PoolReply, PoolStart } from './thread-pool.ts'

export interface TaskContext {
  /** Sends a part of the result. */
  emit: (part: unknown) => void
  /** The result is no longer needed: end soon, with any result. */
  isStopped: () => boolean
}

type Tasks = Record<string, (input: never, context: TaskContext) => unknown>

/** The other end of a ThreadPool: performs one task after the other. */
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
