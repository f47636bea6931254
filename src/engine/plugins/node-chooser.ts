import { z } from 'zod'
import { showUnseen } from '../../shared/unseen.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { NodeQuestion } from './plugin.ts'
import { PluginError, type PluginThread } from './plugin-thread.ts'

const ANSWER_WITHIN_MS = 100
const PAUSE_MS = 10_000

const Words = z.string().transform((text) => showUnseen(text.slice(0, 200).toWellFormed()))
const Choice = z
  .union([z.string().transform((node) => ({ node })), z.strictObject({ node: z.string(), why: Words.optional() })])
  .transform(({ node, why = 'it gave no reason' }: { node: string; why?: string | undefined }) => ({ node, why }))
const Choices = z.record(z.string(), Choice.nullish()).nullish()

/** What a plugin said about jobs that are sent together. */
export interface NodeChoices {
  plugin: string
  byJob: ReadonlyMap<string, z.output<typeof Choice> | null | undefined>
  /** Why it was not asked, or what was wrong with its answer; null: nothing. */
  problem: string | null
}

/**
 * Asks a plugin which nodes get jobs. Jobs wait for it once and briefly: a late or unusable answer is not used, and the
 * next question is asked after a pause. A late answer does not end the thread; the plugin's own timeout does.
 */
export class NodeChooser {
  readonly #thread: PluginThread
  readonly #clock: Clock
  readonly #logger: Logger
  #isAsking = false
  #notBeforeMs = 0
  #problem = ''

  constructor(thread: PluginThread, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#thread = thread
    this.#clock = clock
    this.#logger = logger
  }

  /** Never rejects. */
  async choose(questions: NodeQuestion[]): Promise<NodeChoices> {
    const { name: plugin } = this.#thread.settings
    if (!this.#isAsking && this.#clock.monotonicMs() >= this.#notBeforeMs) {
      try {
        const answer = Choices.parse(await this.#ask(questions)) ?? {}
        return { plugin, byJob: new Map(Object.entries(answer)), problem: null }
      } catch (error) {
        const isOfPlugin = error instanceof PluginError
        this.#problem = Words.parse(
          isOfPlugin ? error.message : 'its answer is not { [job id]: node id or { node, why } }'
        )
        this.#notBeforeMs = this.#clock.monotonicMs() + PAUSE_MS
        this.#logger.warn({ plugin, problem: this.#problem }, 'a plugin could not choose nodes for jobs')
      }
    }
    return { plugin, byJob: new Map(), problem: this.#problem }
  }

  async #ask(questions: NodeQuestion[]): Promise<unknown> {
    this.#isAsking = true
    const answer = this.#thread.call('chooseNode', [questions]).finally(() => {
      this.#isAsking = false
    })
    const late = Promise.withResolvers<never>()
    const timer = this.#clock.setTimer(ANSWER_WITHIN_MS, () =>
      late.reject(new PluginError(`it did not answer within ${ANSWER_WITHIN_MS / 1000} s`))
    )
    try {
      return await Promise.race([answer, late.promise])
    } finally {
      timer.cancel()
    }
  }
}
