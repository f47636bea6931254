import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { type Clock, sleep, type Timer } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { FromPlugin, PluginCall } from './plugin-messages.ts'

export interface PluginSettings {
  /** Unique; what messages and the outbox call it. */
  name: string
  /** Absolute path of the module. */
  module: string
  options: Readonly<Record<string, string>>
  timeoutMs: number
  memoryMb: number
  /** What becomes of a job when `beforeDispatch` fails. */
  onFailure: 'send' | 'hold'
}

/** A hook threw, took too long, or its thread died. The words are for people. */
export class PluginError extends Error {}

const START_TIMEOUT_MS = 30_000
const RESTART_FIRST_MS = 1_000
const RESTART_MAX_MS = 60_000
const LOG_LINE_MAX_CHARACTERS = 2_000
/** What opens our own door is nothing that a plugin needs. */
const KEPT_FROM_PLUGINS = ['SCRAPDECK_PASSWORD', 'SCRAPYD_PASSWORD', 'SCRAPDECK_USERNAME', 'SCRAPYD_USERNAME']

interface Pending {
  resolve: (value: unknown) => void
  reject: (error: PluginError) => void
  timer: Timer | null
}

/**
 * One plugin in a thread of its own, so that nothing it does blocks the engine: an endless loop, a memory leak, an
 * exit.
 *
 *   starting --ready--> running --time limit, crash--> ended --next call, after a back-off--> starting
 *
 * A call that takes too long ends the thread, as nothing else can end a loop; concurrent calls fail with it, and what
 * the plugin had in memory is lost.
 */
export class PluginThread {
  readonly settings: PluginSettings
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | null = null
  #starting: Promise<void> | null = null
  #hooks = new Set<string>()
  #lastId = 0
  #failuresInARow = 0
  #notBeforeMs = 0
  #stopped = false

  constructor(settings: PluginSettings, parts: { clock: Clock; logger: Logger }) {
    this.settings = settings
    this.#clock = parts.clock
    this.#logger = parts.logger
  }

  has(hook: string): boolean {
    return this.#hooks.has(hook)
  }

  /** Rejects with PluginError where the module cannot be loaded or makes no plugin. */
  start(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = null
    })
    return this.#starting
  }

  /** `timeoutMs: null`: it may take its time. Rejects with PluginError. */
  async call(call: string, args: unknown[], options: { timeoutMs?: number | null; transfer?: unknown[] } = {}) {
    const { timeoutMs = this.settings.timeoutMs, transfer = [] } = options
    if (this.#worker === null) await this.#restart()
    const worker = this.#worker
    if (worker === null) throw this.#error('is not running')
    this.#lastId += 1
    const id = this.#lastId
    return new Promise<unknown>((resolve, reject) => {
      const timer =
        timeoutMs === null
          ? null
          : this.#clock.setTimer(timeoutMs, () =>
              this.#end(worker, `took longer than ${timeoutMs / 1000} s for ${call} and was stopped`)
            )
      this.#pending.set(id, { resolve, reject, timer })
      try {
        worker.postMessage({ id, call, args } satisfies PluginCall, transfer as never)
      } catch (error) {
        this.#settle(id, (one) => one.reject(this.#error(`could not be called: ${(error as Error).message}`)))
      }
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const worker = this.#worker
    if (worker === null) return
    this.#end(worker, 'was stopped')
    await worker.terminate()
  }

  /** Resolves when a thread that has ended may be started again, at once where none has. */
  async untilStartable(): Promise<void> {
    // Timers may come a little too early.
    while (this.#worker === null && !this.#stopped) {
      const waitMs = this.#notBeforeMs - this.#clock.monotonicMs()
      if (waitMs <= 0) return
      await sleep(this.#clock, Math.ceil(waitMs))
    }
  }

  async #restart(): Promise<void> {
    const waitMs = this.#notBeforeMs - this.#clock.monotonicMs()
    if (this.#stopped) throw this.#error('was stopped')
    if (waitMs > 0 && this.#starting === null) {
      throw this.#error(`failed and restarts in ${Math.ceil(waitMs / 1000)} s`)
    }
    await this.start()
  }

  async #start(): Promise<void> {
    const { module, options, memoryMb } = this.settings
    const environment = { ...process.env }
    for (const name of KEPT_FROM_PLUGINS) delete environment[name]
    const worker = new Worker(workerFile(), {
      workerData: { module: pathToFileURL(module).href, options },
      name: `scrapdeck-plugin-${this.settings.name}`,
      env: environment,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      stdout: true,
      stderr: true
    })
    this.#follow(worker)
    const ready = Promise.withResolvers<void>()
    const refuse = (problem: string) => {
      ready.reject(this.#error(problem))
      this.#end(worker, problem)
    }
    const timer = this.#clock.setTimer(START_TIMEOUT_MS, () =>
      refuse(`was not ready within ${START_TIMEOUT_MS / 1000} s`)
    )
    worker.on('message', (message: FromPlugin) => {
      if (message.kind === 'ready') {
        this.#hooks = new Set(message.hooks)
        this.#worker = worker
        // Not before: while the engine starts it may be all that keeps the process.
        worker.unref()
        ready.resolve()
      } else if (message.kind === 'refused') refuse(`cannot be used: ${message.problem}`)
      else if (message.kind === 'answer') {
        this.#failuresInARow = 0
        this.#settle(message.id, (one) => one.resolve(message.value))
      } else this.#settle(message.id, (one) => one.reject(this.#error(`failed: ${message.problem}`)))
    })
    // An error in a callback of its own, or memory beyond its limit.
    worker.on('error', (error) => refuse(`died: ${error instanceof Error ? error.message : String(error)}`))
    worker.on('exit', () =>
      refuse(
        this.#worker === worker
          ? 'ended itself'
          : 'ended before it created a plugin: it called exit, or its promise never resolves'
      )
    )
    try {
      await ready.promise
    } finally {
      timer.cancel()
    }
  }

  /** Once for each thread: its calls fail, and it is not asked any more. */
  #end(worker: Worker, problem: string): void {
    worker.removeAllListeners('exit').removeAllListeners('error').removeAllListeners('message')
    // A thread that is being ended may still throw: that is no error of ours.
    worker.on('error', () => undefined)
    void worker.terminate()
    if (!this.#stopped) {
      this.#logger.error({ plugin: this.settings.name }, `A plugin ${problem}`)
      const waitMs = Math.min(RESTART_MAX_MS, RESTART_FIRST_MS * 2 ** Math.min(10, this.#failuresInARow))
      this.#failuresInARow += 1
      this.#notBeforeMs = this.#clock.monotonicMs() + waitMs
    }
    if (this.#worker !== worker) return
    this.#worker = null
    for (const id of [...this.#pending.keys()]) this.#settle(id, (one) => one.reject(this.#error(problem)))
  }

  #settle(id: number, how: (one: Pending) => void): void {
    const one = this.#pending.get(id)
    if (one === undefined) return
    this.#pending.delete(id)
    one.timer?.cancel()
    how(one)
  }

  /** What a plugin prints is a line in our log. */
  #follow(worker: Worker): void {
    for (const stream of [worker.stdout, worker.stderr]) {
      createInterface({ input: stream }).on('line', (line) =>
        this.#logger.info({ plugin: this.settings.name }, line.slice(0, LOG_LINE_MAX_CHARACTERS))
      )
    }
  }

  #error(problem: string): PluginError {
    return new PluginError(`The plugin ${this.settings.name} ${problem}`)
  }
}

/** Beside this file from source; in a bundle beside the chunk that this became, as an entry of its own. */
function workerFile(): URL {
  const isSource = import.meta.url.endsWith('.ts')
  return new URL(isSource ? './plugin-worker.ts' : './plugin-worker.js', import.meta.url)
}
