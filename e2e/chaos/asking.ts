import { connectClient, type Client, TEST_CREDENTIALS } from '../support/service.ts'
import type { Job } from '../../src/shared/contract/index.ts'
import type { Asked, Told } from './judge.ts'
import { pause } from './nodes.ts'
import type { PlannedJob } from './plan.ts'
import { PROJECT } from './project.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'

const BULK = 8
const AGAIN_AFTER_MS = 100
/** The time limit for a response. An engine that has just been killed may never respond. */
const ANSWER_LIMIT_MS = 10_000
const DEDUPE_SECONDS = 86_400

export class Asker {
  readonly asked: Asked[] = []
  readonly #address: () => string
  readonly #signal: AbortSignal
  readonly #bulk: number
  #repeated = 0

  /** `address` returns the engine for the next request. `bulk` is the maximum number of jobs in one request. */
  constructor(address: () => string, signal: AbortSignal, bulk = BULK) {
    this.#address = address
    this.#signal = signal
    this.#bulk = bulk
  }

  get repeated(): number {
    return this.#repeated
  }

  /**
   * Queues all jobs, but never more than `backlogMax` ahead of the number of started runs. This spreads the requests
   * over the whole test.
   */
  async askAll(jobs: PlannedJob[], backlogMax: number, begunCount: () => number): Promise<void> {
    const rest = [...jobs]
    while (rest.length > 0 && !this.#signal.aborted) {
      if (this.asked.length - begunCount() >= backlogMax) {
        await pause(50, this.#signal)
        continue
      }
      const [first] = rest
      if (first!.door === 'run') await this.#askOne(rest.shift()!)
      else if (first!.door === 'scrapyd') await this.#askAsScrapyd(rest.shift()!)
      else {
        const until = rest.findIndex(({ door }) => door !== 'bulk')
        await this.#askBulk(rest.splice(0, Math.min(this.#bulk, until === -1 ? rest.length : until)))
      }
    }
  }

  async #askOne(job: PlannedJob): Promise<void> {
    const { spider, ...item } = itemOf(job)
    const answer = await this.#untilAnswered((client) => client.jobs.run({ ...item, spiders: [spider] }))
    this.asked.push({ number: job.number, id: answer?.jobs[0]?.id ?? null })
  }

  async #askBulk(jobs: PlannedJob[]): Promise<void> {
    const answer = await this.#untilAnswered((client) => client.jobs.runMany({ jobs: jobs.map(itemOf) }))
    for (const [index, { number }] of jobs.entries()) this.asked.push({ number, id: answer?.ids[index] ?? null })
  }

  /** Scrapyd's API has no idempotency key, so a request without a response is not repeated. */
  async #askAsScrapyd(job: PlannedJob): Promise<void> {
    const { args } = itemOf(job)
    const body = new URLSearchParams({ project: PROJECT, spider: job.spider, ...args })
    const authorization = basicAuthorization(TEST_CREDENTIALS)
    let id: string | null = null
    try {
      const signal = AbortSignal.timeout(ANSWER_LIMIT_MS)
      const url = `${this.#address()}/schedule.json`
      const response = await fetch(url, { method: 'POST', headers: { authorization }, body, signal })
      const answer = (await response.json()) as { status: string; jobid?: string }
      if (answer.status === 'ok') id = answer.jobid ?? null
    } catch {
      // The engine is down: nothing was acknowledged.
    }
    this.asked.push({ number: job.number, id })
  }

  async #untilAnswered<Answer>(ask: (client: Client) => Promise<Answer>): Promise<Answer | null> {
    for (;;) {
      if (this.#signal.aborted) return null
      try {
        return await withLimit(ask(connectClient(this.#address(), TEST_CREDENTIALS)))
      } catch (error) {
        // The service refused, so a retry would not help.
        if (isRefusal(error)) throw error
        this.#repeated += 1
        await pause(AGAIN_AFTER_MS, this.#signal)
      }
    }
  }
}

function itemOf({ number, spider, seconds, retry }: PlannedJob) {
  return {
    project: PROJECT,
    spider,
    args: { number: String(number), seconds: seconds.toFixed(3) },
    retry,
    dedupe: { key: `chaos-${number}`, ttlSeconds: DEDUPE_SECONDS }
  }
}

function isRefusal(error: unknown): boolean {
  const status = (error as { status?: unknown }).status
  return typeof status === 'number' && status >= 400 && status < 500
}

async function withLimit<Answer>(answer: Promise<Answer>): Promise<Answer> {
  const limit = Promise.withResolvers<never>()
  const timer = setTimeout(() => limit.reject(new Error('no answer')), ANSWER_LIMIT_MS)
  try {
    return await Promise.race([answer, limit.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns every job that the service knows. A job that `ranOnce` and succeeded has no attempts in the result. */
export async function tellAll(client: Client, ranOnce: (number: number) => boolean): Promise<Told[]> {
  const told: Told[] = []
  for await (const job of allJobs(client)) {
    const number = Number(job.args['number'])
    const isPlain = job.status === 'succeeded' && job.attemptCount === 1 && !job.mayHaveRunTwice && ranOnce(number)
    told.push({ number, job, attempts: isPlain ? [] : (await client.jobs.get({ id: job.id })).attempts })
  }
  return told
}

async function* allJobs(client: Client): AsyncGenerator<Job> {
  let before: string | undefined
  for (;;) {
    const { jobs, nextBefore } = await client.jobs.list({ before, limit: 500 })
    yield* jobs
    if (nextBefore === null) return
    before = nextBefore
  }
}
