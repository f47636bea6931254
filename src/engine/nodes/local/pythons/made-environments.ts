import { mkdir, readdir } from 'node:fs/promises'
import { join, sep } from 'node:path'
import pLimit from 'p-limit'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/nodes.ts'
import { Alarm, type Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Isolation } from '../isolation/isolation.ts'
import { MadeEnvironment } from './made-environment.ts'

export interface Made {
  id: string
  environment: MadeEnvironment
  work: { done: Promise<void>; abort: AbortController } | null
}

interface MadeEnvironmentsOptions {
  directory: string
  isolation?: Isolation
  main: MadeEnvironment
  pythonsInUse: () => string[] | null
  clock: Clock
  logger: Logger
  onChange: () => void
}

const MADE_AT_ONCE = 2
const PROGRESS_EVERY_MS = 500
const TIDY_EVERY_MS = 60_000
const ID = /^[0-9a-f]{12}$/

/** The environments that we build from requirements: one directory each, at most two builds at a time. */
export class MadeEnvironments {
  readonly #options: MadeEnvironmentsOptions
  readonly #byId = new Map<string, Made>()
  readonly #inTurn = pLimit(MADE_AT_ONCE)
  #isClosed = false
  /** Progress changes with every line from pip, so we publish it at intervals. */
  readonly #progressAlarm: Alarm
  readonly #tidyAlarm: Alarm

  private constructor(options: MadeEnvironmentsOptions) {
    this.#options = options
    this.#progressAlarm = new Alarm(options.clock, () => options.onChange())
    this.#tidyAlarm = new Alarm(
      options.clock,
      () =>
        void this.#tidy().catch((error: unknown) =>
          options.logger.warn({ error }, 'deleting old Python environments failed')
        )
    )
  }

  static async open(options: MadeEnvironmentsOptions): Promise<MadeEnvironments> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 })
    const environments = new MadeEnvironments(options)
    for (const name of await readdir(options.directory)) if (ID.test(name)) environments.of(name)
    environments.#tidyLater()
    return environments
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  find(id: string): Made | undefined {
    return this.#byId.get(id)
  }

  list(): Made[] {
    return [...this.#byId.values()]
  }

  /** Returns the environment with this id. Registers a new id, for which `begin` builds the environment. */
  of(id: string): Made {
    let one = this.#byId.get(id)
    if (one === undefined) {
      const { directory, isolation, clock } = this.#options
      const onChange = () => this.announceProgress()
      const environment = new MadeEnvironment({ directory: join(directory, id), isolation, clock, onChange })
      one = { id, environment, work: null }
      this.#byId.set(id, one)
    }
    return one
  }

  /** Does nothing if the environment is being built, if there is no Python to build it with, or after `close`. */
  begin(one: Made, base: { path: string; version: string } | null, requirements: string): void {
    const { logger, onChange } = this.#options
    if (one.work !== null || base === null || this.#isClosed) return
    const abort = new AbortController()
    const done = one.environment
      .build(base, requirements, abort.signal, (work) => this.#buildInTurn(work, abort.signal))
      .then(() => logger.info({ environment: one.id }, 'a Python environment was built'))
      .catch((error: unknown) => {
        if (!abort.signal.aborted)
          logger.warn({ environment: one.id, error }, 'a Python environment could not be built')
      })
      .finally(() => {
        one.work = null
        if (this.#isClosed) return
        this.#tidyLater()
        onChange()
      })
    one.work = { done, abort }
    onChange()
  }

  /** Rejects with BAD_INPUT while spiders run in the environment. */
  async remove(one: Made): Promise<void> {
    const inUse = this.#options.pythonsInUse()
    if (inUse === null || inUse.some((path) => path.startsWith(one.environment.directory + sep))) {
      throw new ScrapdeckError('BAD_INPUT', sentence('nodes.environment_in_use', { id: one.id }))
    }
    one.work?.abort.abort(new Error('The environment was removed'))
    await one.work?.done
    this.#byId.delete(one.id)
    await one.environment.delete()
  }

  announceProgress(): void {
    this.#progressAlarm.set(PROGRESS_EVERY_MS)
  }

  /** Stops running builds. The next engine starts them again. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#progressAlarm.stop()
    this.#tidyAlarm.stop()
    const work = this.list().flatMap((one) => one.work ?? [])
    for (const { abort } of work) abort.abort(new Error('Scrapdeck is stopping'))
    await Promise.allSettled(work.map(({ done }) => done))
  }

  async #buildInTurn(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const begun = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => begun.reject(signal.reason), { once: true })
    const worked = this.#inTurn(async () => {
      if (signal.aborted) return
      begun.resolve()
      await work()
    })
    await begun.promise
    await worked
  }

  /** Schedules the removal of leftovers: unfinished builds of a killed engine, and replaced builds. */
  #tidyLater(): void {
    this.#tidyAlarm.set(TIDY_EVERY_MS)
  }

  async #tidy(): Promise<void> {
    const environments = [this.#options.main, ...this.list().map((one) => one.environment)]
    const leftOvers = await Promise.all(environments.map((environment) => environment.leftOvers()))
    if (leftOvers.flat().length === 0) return
    const inUse = this.#options.pythonsInUse()
    const isInUse = (build: string) => inUse === null || inUse.some((path) => path.startsWith(build + sep))
    for (const environment of environments) if (!this.#isClosed) await environment.tidy(isInUse)
    this.#tidyLater()
  }
}
