import { receivedError } from '../../runtime/thread-task.ts'
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import pLimit from 'p-limit'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import { type Clock, type Timer, Timers } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { threadFile } from '../../runtime/thread-task.ts'
import type { FromReader, ItemsCall, ItemsCalls, ToReader } from './messages.ts'

const IDLE_MS = 60_000
const ABORT_MS = 2_000
const JS_HEAP_MB = 512
/** The maximum number of heavy calls at once. Each can use all of DuckDB's memory. */
const HEAVY_AT_ONCE = 2
const LIGHT_AT_ONCE = 4
const WAITING_MAX = 40

interface Running {
  resolve: (value: unknown) => void
  reject: (error: Error) => void
  onProgress: (share: number) => void
}

interface Reader {
  send(message: ToReader): void
  hold(isHeld: boolean): void
  kill(): void
}

export interface CallOptions {
  timeoutMs: number
  isHeavy: boolean
  signal?: AbortSignal | undefined
  onProgress?: (share: number) => void
}

/**
 * Reads items in a separate process, so that neither a hostile file nor DuckDB can block or crash the engine. The
 * process starts with the first call and ends when idle. If it dies, its calls fail and the next call starts another.
 *
 *   none --call--> running --idle, crash, failed abort--> none
 */
export class ItemsProcess {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #timers: Timers
  readonly #whyNoProcess: string | null
  readonly #heavy = pLimit(HEAVY_AT_ONCE)
  readonly #light = pLimit(LIGHT_AT_ONCE)
  readonly #running = new Map<number, Running>()
  #reader: Reader | null = null
  #idle: Timer | null = null
  #lastId = 0
  #isStopped = false

  /** `whyNoProcess`: why to use a thread without DuckDB instead. Null: use a process. */
  constructor(parts: { clock: Clock; logger: Logger; whyNoProcess: string | null }) {
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#whyNoProcess = parts.whyNoProcess
    this.#timers = new Timers(parts.clock)
  }

  get isRunning(): boolean {
    return this.#reader !== null
  }

  /** Rejects with the reader's ScrapdeckError, or with ITEMS_FAILED if the call took too long or the reader died. */
  call<Call extends ItemsCall>(
    call: Call,
    input: ItemsCalls[Call]['input'],
    options: CallOptions
  ): Promise<ItemsCalls[Call]['result']> {
    const limit = options.isHeavy ? this.#heavy : this.#light
    if (limit.pendingCount >= WAITING_MAX) {
      const text = sentence('runs.too_many_item_requests')
      return Promise.reject(new ScrapdeckError('TOO_MANY_REQUESTS', text))
    }
    return limit(() => this.#call(call, input, options)) as Promise<ItemsCalls[Call]['result']>
  }

  /** Pending calls fail with STOPPING. */
  stop(): void {
    this.#isStopped = true
    this.#end(new ScrapdeckError('STOPPING', sentence('runs.scrapdeck_stopping')))
    this.#timers.stop()
  }

  async #call(call: ItemsCall, input: unknown, options: CallOptions): Promise<unknown> {
    const { signal, timeoutMs, onProgress = () => {} } = options
    if (this.#isStopped) throw new ScrapdeckError('STOPPING', sentence('runs.scrapdeck_stopping'))
    signal?.throwIfAborted()
    this.#idle?.cancel()
    const reader = (this.#reader ??= this.#start())
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#running.set(id, { resolve, reject, onProgress })
    reader.hold(true)
    const giveUp = (error: unknown): void => {
      reject(error as Error)
      if (this.#reader !== reader) return
      reader.send({ abort: id })
      this.#timers.set(ABORT_MS, () => {
        if (this.#reader === reader && this.#running.has(id)) this.#end(failed('was ended, because it did not respond'))
      })
    }
    const onAbort = () => giveUp(signal!.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    const timer = this.#clock.setTimer(timeoutMs, () =>
      giveUp(new ScrapdeckError('ITEMS_FAILED', sentence('runs.items_took_too_long', { timeoutMs })))
    )
    reader.send({ id, call, input })
    try {
      return await promise
    } finally {
      timer.cancel()
      signal?.removeEventListener('abort', onAbort)
    }
  }

  #start(): Reader {
    const file = threadFile(import.meta.url, 'items-worker')
    return this.#whyNoProcess === null ? this.#startProcess(file) : this.#startThread(file, this.#whyNoProcess)
  }

  #startProcess(file: URL): Reader {
    const child: ChildProcess = fork(fileURLToPath(file), [], {
      // The process parses untrusted files, so its environment is empty except for SystemRoot, which Windows needs.
      env: process.platform === 'win32' ? { SystemRoot: process.env['SystemRoot'] } : {},
      execArgv: [`--max-old-space-size=${JS_HEAP_MB}`, '--disable-warning=ExperimentalWarning'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc']
    })
    child.unref()
    const reader: Reader = {
      send: (message) => void child.send(message, () => {}),
      hold: (isHeld) => (isHeld ? child.channel?.ref() : child.channel?.unref()),
      kill: () => void child.kill('SIGKILL')
    }
    child.on('message', (message) => this.#receive(message as FromReader))
    child.on('error', (error) => this.#lost(reader, error.message))
    child.on('exit', (code, signal) => this.#lost(reader, signal ?? `exit code ${code}`))
    return reader
  }

  #startThread(file: URL, whyNot: string): Reader {
    const worker = new Worker(file, {
      workerData: { whyNot },
      name: 'scrapdeck-items',
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: JS_HEAP_MB }
    })
    const reader: Reader = {
      send: (message) => worker.postMessage(message),
      hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
      kill: () => void worker.terminate()
    }
    worker.on('message', (message: FromReader) => this.#receive(message))
    worker.on('error', (error) => this.#lost(reader, (error as Error).message))
    worker.on('exit', (code) => this.#lost(reader, `exit code ${code}`))
    return reader
  }

  #receive(message: FromReader): void {
    const call = this.#running.get(message.id)
    if (call === undefined) return
    if ('share' in message) return call.onProgress(message.share)
    this.#running.delete(message.id)
    if ('value' in message) call.resolve(message.value)
    else if ('error' in message) call.reject(receivedError(message.error))
    else call.reject(new Error(message.failure))
    if (this.#running.size > 0) return
    this.#reader?.hold(false)
    this.#idle?.cancel()
    this.#idle = this.#clock.setTimer(IDLE_MS, () => this.#end(failed('was ended')))
  }

  #lost(reader: Reader, how: string): void {
    if (this.#reader !== reader) return
    this.#logger.warn({ how }, 'The process that reads items has died; the next request starts another one')
    this.#end(failed(`died (${how}), perhaps because the items need too much memory`))
  }

  #end(error: Error): void {
    const reader = this.#reader
    this.#reader = null
    this.#idle?.cancel()
    reader?.kill()
    for (const { reject } of this.#running.values()) reject(error)
    this.#running.clear()
  }
}

function failed(what: string): ScrapdeckError {
  return new ScrapdeckError('ITEMS_FAILED', sentence('runs.items_process_failed', { what }))
}
