import { z } from 'zod'
import type { JobId, NodeId } from '../../shared/contract/index.ts'
import { showUnseen } from '../../shared/unseen.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { NodeQuestion } from './plugin.ts'
import { PluginError, type PluginThread } from './plugin-thread.ts'

const ANSWER_WITHIN_MS = 100
const PAUSE_FIRST_MS = 1_000
const PAUSE_MAX_MS = 60_000
const WHY_MAX = 200

/** What a plugin said about jobs that are sent together. */
export interface NodeChoices {
  plugin: string
  byJob: ReadonlyMap<JobId, { nodeId: NodeId; why: string }>
  /** Why it was not asked, or what was wrong with its answer; null: nothing. */
  problem: string | null
}

const Why = z.string().transform((text) => showUnseen(text.slice(0, WHY_MAX).toWellFormed()))
const Choice = z.union([
  z.string().transform((node) => ({ node, why: 'it gave no reason' })),
  z.strictObject({ node: z.string(), why: Why.default('it gave no reason') })
])
const NodeAnswerSchema = z.record(z.string(), Choice.nullish()).nullish()

/**
 * Asks a plugin which nodes get jobs. Jobs wait for it once and briefly: a late or unusable answer is not used, and
 * pauses the questions for a time that doubles. A late answer does not end the thread; the plugin's own timeout does.
 */
export class NodeChooser {
  readonly #thread: PluginThread
  readonly #clock: Clock
  readonly #logger: Logger
  #isAsking = false
  #failuresInARow = 0
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
    const byJob = new Map<JobId, { nodeId: NodeId; why: string }>()
    if (this.#isAsking || this.#clock.monotonicMs() < this.#notBeforeMs) {
      return { plugin, byJob, problem: this.#problem }
    }
    try {
      const answer = NodeAnswerSchema.parse(await this.#ask(questions)) ?? {}
      for (const [jobId, choice] of Object.entries(answer)) {
        if (choice != null) byJob.set(jobId as JobId, { nodeId: choice.node as NodeId, why: choice.why })
      }
      this.#failuresInARow = 0
      return { plugin, byJob, problem: null }
    } catch (error) {
      const words =
        error instanceof PluginError ? error.message : 'its answer is not { [job id]: node id or { node, why } }'
      this.#problem = showUnseen(words.slice(0, WHY_MAX).toWellFormed())
      const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** Math.min(10, this.#failuresInARow))
      this.#failuresInARow += 1
      this.#notBeforeMs = this.#clock.monotonicMs() + pauseMs
      this.#logger.warn({ plugin, problem: this.#problem, pauseMs }, 'a plugin could not choose nodes for jobs')
      return { plugin, byJob, problem: this.#problem }
    }
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
