import { Worker } from 'node:worker_threads'
import { type ErrorCode, ScrapdeckError } from '../../shared/errors.ts'
import type { Clock } from './clock.ts'

/** `data`: with the code and parameters of the message (ScrapdeckError). */
export interface SentError {
  code: ErrorCode
  message: string
  data: Record<string, unknown>
}

export type TaskAnswer = { value: unknown } | { error: SentError } | { failure: string }

export interface ThreadTask {
  file: URL
  input: unknown
  timeoutMs: number
  memoryMb: number
  clock: Clock
  tooLarge: (what: string) => ScrapdeckError
}

export function sentError({ code, message, data }: ScrapdeckError): SentError {
  return { code, message, data }
}

export const receivedError = ({ code, message, data }: SentError) => new ScrapdeckError(code, message, { data })

/** Runs work of unknown duration on untrusted text. Rejects with the ScrapdeckError that the task threw. */
export async function runInThread<Result>(task: ThreadTask): Promise<Result> {
  const { file, input, timeoutMs, memoryMb, clock, tooLarge } = task
  const worker = new Worker(file, {
    workerData: input,
    name: 'scrapdeck-task',
    // The thread reads untrusted text and needs no environment variables.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 4 }
  })
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  const timer = clock.setTimer(timeoutMs, () => reject(tooLarge(`takes longer than ${timeoutMs / 1000} s`)))
  worker.on('message', (answer: TaskAnswer) => {
    if ('value' in answer) resolve(answer.value as Result)
    else if ('error' in answer) reject(receivedError(answer.error))
    else reject(new Error(answer.failure))
  })
  worker.on('error', (error: NodeJS.ErrnoException) =>
    reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooLarge(`needs more than ${memoryMb} MB of memory`) : error)
  )
  worker.on('exit', () => reject(new Error('The thread of a task ended without an answer')))
  try {
    return await promise
  } finally {
    timer.cancel()
    void worker.terminate()
  }
}

/**
 * In source, the file of a thread is next to the module that starts it (`import.meta.url`). In a bundle, it is next to
 * the chunk with that module (electron.vite.config.ts, service.vite.config.ts).
 */
export function threadFile(startedBy: string, name: string): URL {
  return new URL(`./${name}${startedBy.endsWith('.ts') ? '.ts' : '.js'}`, startedBy)
}
