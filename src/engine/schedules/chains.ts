import type { Attempt, RunItem, RunTemplate } from '../../shared/contract/index.ts'
import { isScrapdeckError } from '../../shared/errors.ts'
import { render, say } from '../../shared/texts/message.ts'
import type { Clock, Timer } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { isWithoutFiles, WITHOUT_FILES } from '../access/run-rights.ts'
import type { ChainAnswer, DueChain, NewJob, StoredChain, StoredJob } from '../model/records.ts'
import type {
  AttemptReader,
  ChainEndStore,
  ChainStore,
  ChangeNotifier,
  JobReader,
  ScheduleReader
} from '../storage/store.ts'
import { WEIGHT_AT_ONCE, weightOf } from './template.ts'

export interface ChainFacts {
  chain: string
  /** The job that ended, and Scrapy's closing stats of the job's last run. */
  job: StoredJob
  stats: NonNullable<Attempt['stats']>
  nowMs: number
  zone: string | null
}

export interface ChainRunnerParts {
  store: ChainStore & ChainEndStore & JobReader & AttemptReader & ScheduleReader & ChangeNotifier
  clock: Clock
  logger: Logger
  openTemplate: (template: RunTemplate) => Promise<RunTemplate>
  /** Throws PROJECT_, VERSION_ or SPIDER_NOT_FOUND, before anything is computed. */
  requireSpiders: (template: RunTemplate) => void
  expand: (template: RunTemplate, facts: ChainFacts) => Promise<{ items: RunItem[]; bytes: number }>
  prepare: (items: RunItem[]) => Promise<NewJob[]>
  onJobs: () => void
  onAnswered: () => void
}

const ANSWERED_AT_ONCE = 100
const AGAIN_AFTER_MS = 10_000

/**
 * Whether the new jobs must not read the node's files. The statistics that the template passes on can depend on the
 * requests or the code of another project.
 */
function mustBeWithoutFiles(template: RunTemplate, { project, settings }: StoredJob): boolean {
  const { args, argSets, matrix, settings: ours } = template
  const passesStats = JSON.stringify([args, argSets, matrix, ours]).includes('{stats.')
  return isWithoutFiles(settings) || (project !== template.project && passesStats)
}

/**
 * Creates jobs when a watched job ends. The store records each (chain, job) in the transaction that ends the job, and
 * accepts each result once, together with its jobs. Every end therefore creates its jobs exactly once, despite crashes.
 */
export class ChainRunner {
  readonly #parts: ChainRunnerParts
  #hasChains = false
  #answering: Promise<void> | null = null
  #answerAgain = false
  #retry: Timer | null = null
  #stopListening: (() => void) | null = null

  constructor(parts: ChainRunnerParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    this.#stopListening = this.#parts.store.onChange(() => {
      if (this.#hasChains) this.#answerDue()
    })
    await this.refresh()
  }

  async stop(): Promise<void> {
    this.#stopListening?.()
    this.#stopListening = null
    this.#retry?.cancel()
    await this.#answering
    this.#retry?.cancel()
  }

  async refresh(): Promise<void> {
    this.#hasChains = (await this.#parts.store.listChains()).length > 0
    if (this.#hasChains) this.#answerDue()
  }

  #answerDue(): void {
    if (this.#answering !== null) {
      this.#answerAgain = true
      return
    }
    this.#answering = this.#answerAll()
      .catch((error: unknown) => this.#tryLater(error))
      .finally(() => {
        this.#answering = null
        if (!this.#answerAgain || this.#stopListening === null) return
        this.#answerAgain = false
        this.#answerDue()
      })
  }

  #tryLater(error: unknown): void {
    if (this.#stopListening === null) return
    this.#parts.logger.error({ error }, 'Running chains failed; retrying')
    this.#retry?.cancel()
    this.#retry = this.#parts.clock.setTimer(AGAIN_AFTER_MS, () => this.#answerDue())
  }

  async #answerAll(): Promise<void> {
    const { store, onJobs, onAnswered } = this.#parts
    while (this.#stopListening !== null) {
      const due = await store.listDueChains(ANSWERED_AT_ONCE)
      if (due.length === 0) return
      const chains = new Map((await store.listChains()).map((chain) => [chain.id, chain]))
      const jobs = new Map(
        (await store.getJobs([...new Set(due.map(({ jobId }) => jobId))])).map((job) => [job.id, job])
      )
      const answers: ChainAnswer[] = []
      let weight = 0
      for (const one of due) {
        // The remaining ends stay due and are handled after this write.
        if (weight > WEIGHT_AT_ONCE) break
        const [chain, job] = [chains.get(one.chainId), jobs.get(one.jobId)]
        // The chain or the job was deleted since the previous read, together with its recorded ends.
        if (chain === undefined || job === undefined) continue
        const made = await this.#answer(one, chain, job)
        answers.push(made.answer)
        weight += made.weight
      }
      if (answers.length === 0) return
      await store.answerChains(answers)
      onAnswered()
      if (answers.some(({ jobs: made }) => made.length > 0)) onJobs()
    }
  }

  async #answer(due: DueChain, chain: StoredChain, job: StoredJob): Promise<{ answer: ChainAnswer; weight: number }> {
    const { clock, logger, requireSpiders, openTemplate, expand, prepare } = this.#parts
    const answer = { ...due, atMs: clock.nowMs() }
    try {
      requireSpiders(chain.settings.run)
      const opened = await openTemplate(chain.settings.run)
      const template = mustBeWithoutFiles(opened, job)
        ? { ...opened, settings: { ...opened.settings, ...WITHOUT_FILES } }
        : opened
      const { items, bytes } = await expand(template, await this.#factsOf(chain, job, answer.atMs))
      const jobs = (await prepare(items)).map((made) => withReason(made, chain, job))
      return { answer: { ...answer, jobs, problem: null }, weight: weightOf({ jobs: jobs.length, bytes }) }
    } catch (error) {
      if (!isScrapdeckError(error)) throw error
      const problem = say('chain.failed', { error: error.message, jobId: job.id })
      logger.warn(
        { chain: chain.settings.name, jobId: job.id, problem: render(problem) },
        'A chain could not create a job'
      )
      return { answer: { ...answer, jobs: [], problem }, weight: 0 }
    }
  }

  async #factsOf(chain: StoredChain, job: StoredJob, nowMs: number): Promise<ChainFacts> {
    const { store } = this.#parts
    const attempts = await store.listAttempts(job.id)
    const schedules = job.scheduleId === null ? [] : await store.getSchedules([job.scheduleId])
    const zone = schedules[0]?.settings.zone ?? null
    return { chain: chain.settings.name, job, stats: attempts.at(-1)?.stats ?? {}, nowMs, zone }
  }
}

function withReason(made: NewJob, chain: StoredChain, job: StoredJob): NewJob {
  const message = say('timeline.queued_by_chain', {
    jobId: job.id,
    chain: chain.settings.name,
    spider: job.spider,
    outcome: job.outcome!
  })
  return { ...made, entry: { ...made.entry, message, evidence: { chainId: chain.id, jobId: job.id } } }
}
