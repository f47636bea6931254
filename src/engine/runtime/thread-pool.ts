import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'
import type { Clock, Timer } from './clock.ts'
import { receivedError, type TaskAnswer } from './thread-task.ts'

export type PoolOrder = { task: string; input: unknown } | { task: null }

/** The start data of a thread. The first element of `stop` is 1 when its task must stop. */
export interface PoolStart {
  stop: Int32Array<SharedArrayBuffer>
}

export type PoolReply = { part: unknown } | { answer: TaskAnswer }

export interface PoolTask<Part> {
  task: string
  /** Copied to the thread. Parts and results are copied back. */
  input: unknown
  onPart?: (part: Part) => void
  signal?: AbortSignal | undefined
  timeoutMs?: number
  tooSlow?: () => ScrapdeckError
}

interface PoolOptions {
  file: URL
  name: string
  threads: number
  memoryMb: number
  idleMs: number
  clock: Clock
}

interface Job {
  order: PoolTask<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

interface Thread {
  worker: Worker
  job: Job | null
  stop: Int32Array<SharedArrayBuffer>
  timers: Timer[]
}

const END_WITHIN_MS = 2_000
/** The time limit for a task to stop. A task that takes longer is stuck, for example in a user's regular expression. */
const STOP_WITHIN_MS = 150

/** Starts threads on demand and ends idle ones. Ends the thread of a task that ignores a request to stop. */
export class ThreadPool {
  readonly #options: PoolOptions
  readonly #waiting: Job[] = []
  readonly #threads = new Set<Thread>()
  #idleTimer: Timer | null = null
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  run<Result, Part = never>(task: PoolTask<Part>): Promise<Result> {
    task.signal?.throwIfAborted()
    if (this.#isClosed) return Promise.reject(new ScrapdeckError('STOPPING', sentence('storage.scrapdeck_stopping')))
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const job: Job = { order: task as PoolTask<unknown>, resolve: resolve as Job['resolve'], reject }
    this.#waiting.push(job)
    const abort = () => this.#abort(job, task.signal?.reason)
    task.signal?.addEventListener('abort', abort)
    this.#assign()
    return promise.finally(() => task.signal?.removeEventListener('abort', abort))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#idleTimer?.cancel()
    const stopping = new ScrapdeckError('STOPPING', sentence('storage.scrapdeck_stopping'))
    for (const job of this.#waiting.splice(0)) job.reject(stopping)
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, stopping)))
  }

  #assign(): void {
    while (this.#waiting.length > 0) {
      const thread = [...this.#threads].find(({ job }) => job === null) ?? this.#start()
      if (thread === null) return
      this.#give(thread, this.#waiting.shift()!)
    }
  }

  #start(): Thread | null {
    const { file, name, threads, memoryMb } = this.#options
    if (this.#threads.size >= threads) return null
    const stop = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(file, {
      name,
      workerData: { stop } satisfies PoolStart,
      // The thread reads untrusted text and needs no environment variables.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 4 }
    })
    const thread: Thread = { worker, job: null, stop, timers: [] }
    worker.on('message', (reply: PoolReply) => this.#receive(thread, reply))
    worker.on('error', (error) => void this.#end(thread, error))
    worker.on('exit', () => void this.#end(thread, new Error(`A thread of ${name} ended without an answer`)))
    // Idle threads do not keep the process alive. Pending tasks do, through their callers.
    worker.unref()
    this.#threads.add(thread)
    return thread
  }

  #give(thread: Thread, job: Job): void {
    const { task, input, timeoutMs, tooSlow } = job.order
    thread.job = job
    Atomics.store(thread.stop, 0, 0)
    thread.worker.ref()
    thread.worker.postMessage({ task, input } satisfies PoolOrder)
    if (timeoutMs === undefined) return
    const expire = () => this.#abort(job, tooSlow?.() ?? new Error(`${task} takes longer than ${timeoutMs / 1000} s`))
    thread.timers.push(this.#options.clock.setTimer(timeoutMs, expire))
  }

  #receive(thread: Thread, reply: PoolReply): void {
    const { job } = thread
    if (job === null) return
    if ('part' in reply) {
      if (Atomics.load(thread.stop, 0) === 0) job.order.onPart?.(reply.part)
      return
    }
    this.#free(thread)
    const { answer } = reply
    if ('value' in answer) job.resolve(answer.value)
    else if ('error' in answer) job.reject(receivedError(answer.error))
    else job.reject(new Error(answer.failure))
    this.#assign()
    this.#endWhenIdle()
  }

  #free(thread: Thread): void {
    thread.job = null
    for (const timer of thread.timers.splice(0)) timer.cancel()
    thread.worker.unref()
  }

  /** Rejects the job immediately. Signals its thread to stop, and ends it if it does not stop soon. */
  #abort(job: Job, reason: unknown): void {
    const at = this.#waiting.indexOf(job)
    if (at >= 0) this.#waiting.splice(at, 1)
    job.reject(reason)
    const thread = [...this.#threads].find((each) => each.job === job)
    if (thread === undefined) return
    Atomics.store(thread.stop, 0, 1)
    const end = () => void (thread.job === job && this.#end(thread, reason))
    thread.timers.push(this.#options.clock.setTimer(STOP_WITHIN_MS, end))
  }

  async #end(thread: Thread, reason: unknown): Promise<void> {
    if (!this.#threads.delete(thread)) return
    const { job } = thread
    this.#free(thread)
    job?.reject(reason)
    if (job === null) await this.#endInOrder(thread.worker)
    else await thread.worker.terminate()
    if (!this.#isClosed) this.#assign()
  }

  /** Ending threads by force while others start can crash the process (github.com/nodejs/node/issues/56312). */
  async #endInOrder(worker: Worker): Promise<void> {
    if (worker.threadId === -1) return
    worker.ref()
    const limit = this.#options.clock.setTimer(END_WITHIN_MS, () => void worker.terminate())
    worker.postMessage({ task: null } satisfies PoolOrder)
    await once(worker, 'exit')
    limit.cancel()
  }

  #endWhenIdle(): void {
    this.#idleTimer?.cancel()
    const { clock, idleMs } = this.#options
    this.#idleTimer = clock.setTimer(idleMs, () => {
      for (const thread of [...this.#threads]) if (thread.job === null) void this.#end(thread, null)
    })
  }
}
