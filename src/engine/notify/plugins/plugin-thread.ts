import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { type Message, render, say } from '../../../shared/texts/message.ts'
import { SaidError } from '../../runtime/said-error.ts'
import { type Clock, sleep, type Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { threadFile } from '../../runtime/thread-task.ts'
import type { FromPlugin, PluginCall } from './plugin-messages.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'
import { backoffMs } from '../../runtime/backoff.ts'

export interface PluginSettings {
  /** Unique. Used in messages and in the outbox. */
  name: string
  /** Absolute path of the module. */
  module: string
  options: Readonly<Record<string, string>>
  timeoutMs: number
  memoryMb: number
  onFailure: 'send' | 'hold'
}

/** A hook threw or timed out, or its thread died. The message is for users. */
export class PluginError extends SaidError {}

const START_TIMEOUT_MS = 30_000
const RESTART_FIRST_MS = 1_000
const RESTART_MAX_MS = 60_000
const LOG_LINE_MAX_CHARACTERS = 2_000
/** The variables with credentials for Scrapdeck itself. Plugins must not see them. */
const KEPT_FROM_PLUGINS = ['SCRAPDECK_PASSWORD', 'SCRAPYD_PASSWORD', 'SCRAPDECK_USERNAME', 'SCRAPYD_USERNAME']

interface Pending {
  resolve: (value: unknown) => void
  reject: (error: PluginError) => void
  timer: Timer | null
}

/**
 * Runs one plugin in its own thread, so that an endless loop, a memory leak or an exit does not block the engine.
 *
 *   starting --ready--> running --timeout, crash--> ended --next call, after a backoff--> starting
 *
 * A call that times out ends the thread, because nothing else can stop a loop. Concurrent calls fail too, and the
 * plugin loses everything it has in memory.
 */
export class PluginThread {
  readonly settings: PluginSettings
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | null = null
  readonly #starting = new SingleFlight()
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

  /** Rejects with PluginError if the module cannot be loaded or creates no plugin. */
  start(): Promise<void> {
    return this.#starting.run(() => this.#start())
  }

  /** `timeoutMs: null`: no time limit. Rejects with PluginError. */
  async call(call: string, args: unknown[], options: { timeoutMs?: number | null; transfer?: unknown[] } = {}) {
    const { timeoutMs = this.settings.timeoutMs, transfer = [] } = options
    if (this.#worker === null) await this.#restart()
    const worker = this.#worker
    if (worker === null) throw this.#error(say('plugin_problem.not_running'))
    this.#lastId += 1
    const id = this.#lastId
    return new Promise<unknown>((resolve, reject) => {
      const timer =
        timeoutMs === null
          ? null
          : this.#clock.setTimer(timeoutMs, () =>
              this.#end(worker, say('plugin_problem.late', { seconds: timeoutMs / 1000, call }))
            )
      this.#pending.set(id, { resolve, reject, timer })
      try {
        worker.postMessage({ id, call, args } satisfies PluginCall, transfer as never)
      } catch (error) {
        this.#settle(id, (one) =>
          one.reject(this.#error(say('plugin_problem.not_callable', { why: (error as Error).message })))
        )
      }
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const worker = this.#worker
    if (worker === null) return
    this.#end(worker, say('plugin_problem.stopped'))
    await worker.terminate()
  }

  /** Resolves when an ended thread can be restarted. Resolves immediately if no thread has ended. */
  async untilStartable(): Promise<void> {
    // A loop, because timers can fire slightly early.
    while (this.#worker === null && !this.#stopped) {
      const waitMs = this.#notBeforeMs - this.#clock.monotonicMs()
      if (waitMs <= 0) return
      await sleep(this.#clock, Math.ceil(waitMs))
    }
  }

  async #restart(): Promise<void> {
    const waitMs = this.#notBeforeMs - this.#clock.monotonicMs()
    if (this.#stopped) throw this.#error(say('plugin_problem.stopped'))
    if (waitMs > 0 && this.#starting.running === null) {
      throw this.#error(say('plugin_problem.restarts', { seconds: Math.ceil(waitMs / 1000) }))
    }
    await this.start()
  }

  async #start(): Promise<void> {
    const { module, options, memoryMb } = this.settings
    const environment = { ...process.env }
    for (const name of KEPT_FROM_PLUGINS) delete environment[name]
    const worker = new Worker(threadFile(import.meta.url, 'plugin-worker'), {
      workerData: { module: pathToFileURL(module).href, options },
      name: `scrapdeck-plugin-${this.settings.name}`,
      env: environment,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      stdout: true,
      stderr: true
    })
    this.#follow(worker)
    const ready = Promise.withResolvers<void>()
    const refuse = (problem: Message) => {
      ready.reject(this.#error(problem))
      this.#end(worker, problem)
    }
    const timer = this.#clock.setTimer(START_TIMEOUT_MS, () =>
      refuse(say('plugin_problem.not_ready', { seconds: START_TIMEOUT_MS / 1000 }))
    )
    worker.on('message', (message: FromPlugin) => {
      if (message.kind === 'ready') {
        this.#hooks = new Set(message.hooks)
        this.#worker = worker
        // Called only now, because this thread may be all that keeps the process alive while the engine starts.
        worker.unref()
        ready.resolve()
      } else if (message.kind === 'refused') refuse(say('plugin_problem.refused', { problem: message.problem }))
      else if (message.kind === 'answer') {
        this.#failuresInARow = 0
        this.#settle(message.id, (one) => one.resolve(message.value))
      } else
        this.#settle(message.id, (one) =>
          one.reject(this.#error(say('plugin_problem.failed', { problem: message.problem })))
        )
    })
    // An uncaught error in a callback of the plugin, or the memory limit.
    worker.on('error', (error) =>
      refuse(say('plugin_problem.died', { why: error instanceof Error ? error.message : String(error) }))
    )
    worker.on('exit', () =>
      refuse(say(this.#worker === worker ? 'plugin_problem.ended_itself' : 'plugin_problem.ended_early'))
    )
    try {
      await ready.promise
    } finally {
      timer.cancel()
    }
  }

  #end(worker: Worker, problem: Message): void {
    worker.removeAllListeners('exit').removeAllListeners('error').removeAllListeners('message')
    // A thread can still throw while it is being terminated. Ignore that.
    worker.on('error', () => undefined)
    void worker.terminate()
    if (!this.#stopped) {
      this.#logger.error({ plugin: this.settings.name }, `A plugin ${render(problem)}`)
      const waitMs = backoffMs(++this.#failuresInARow, RESTART_FIRST_MS, RESTART_MAX_MS)
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

  #follow(worker: Worker): void {
    for (const stream of [worker.stdout, worker.stderr]) {
      createInterface({ input: stream }).on('line', (line) =>
        this.#logger.info({ plugin: this.settings.name }, line.slice(0, LOG_LINE_MAX_CHARACTERS))
      )
    }
  }

  #error(problem: Message): PluginError {
    return new PluginError(say('plugin.problem', { plugin: this.settings.name, problem }))
  }
}
