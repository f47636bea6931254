import { EventEmitter } from 'node:events'
import type { Problem } from '../../shared/contract/index.ts'
import type { Clock, Timer } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { NewEvent, ToldProblem } from '../store/records.ts'
import type { ToldProblemStore } from '../store/store.ts'

/** The list of problems is incomplete right after the start: nodes have not been polled yet. */
const FIRST_COMPARISON_MS = 60_000

export interface ProblemNewsParts {
  store: ToldProblemStore
  clock: Clock
  logger: Logger
  problems: () => Problem[]
}

/**
 * Writes raised and resolved problems to the outbox, once each, for plugins with the hooks of problems. The list of
 * reported problems survives restarts, so only differences to it are reported.
 */
export class ProblemNews {
  /** `recorded`: events were written to the outbox. */
  readonly events = new EventEmitter<{ recorded: [] }>()
  readonly #parts: ProblemNewsParts
  #reported: ToldProblem[] | null = null
  #comparing: Promise<void> = Promise.resolve()
  #timer: Timer | null = null
  #stopped = false

  constructor(parts: ProblemNewsParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = this.#parts.clock.setTimer(FIRST_COMPARISON_MS, () => {
      this.#comparing = this.#read().then(() => this.#recordChanges())
    })
  }

  /** Call when the list of problems has changed: writes the differences to the outbox. */
  compareAgain(): void {
    if (this.#reported === null || this.#stopped) return
    this.#comparing = this.#comparing.then(() => this.#recordChanges())
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#comparing
  }

  async #read(): Promise<void> {
    this.#reported = await this.#parts.store.listToldProblems().catch(() => [])
  }

  async #recordChanges(): Promise<void> {
    const { store, clock, logger, problems } = this.#parts
    if (this.#stopped) return
    const now = problems()
    const { raised, resolved } = compare(this.#reported ?? [], now)
    if (raised.length + resolved.length === 0) return
    const atMs = clock.nowMs()
    const event = (name: string, data: NewEvent['data']): NewEvent => ({ event: name, project: null, atMs, data })
    try {
      const reported = now.map(({ id, title, severity }) => ({ id, title, severity }))
      await store.putToldProblems(reported, [
        ...resolved.map((problem) => event('problem.resolved', { problem })),
        ...raised.map((problem) => event('problem.raised', { problem }))
      ])
      this.#reported = reported
      this.events.emit('recorded')
    } catch (error) {
      if (!this.#stopped)
        logger.error({ error }, 'recording problems for plugins failed; retrying with the next change')
    }
  }
}

/** Compares by id: a changed title (2 nodes down, 3 nodes down) is not a new problem. */
export function compare(
  reported: readonly ToldProblem[],
  now: readonly Problem[]
): { raised: Problem[]; resolved: ToldProblem[] } {
  const before = new Set(reported.map(({ id }) => id))
  const after = new Set(now.map(({ id }) => id))
  return { raised: now.filter(({ id }) => !before.has(id)), resolved: reported.filter(({ id }) => !after.has(id)) }
}
