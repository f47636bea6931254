import { SECRET_MASK, type Job, type RunInput } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { LOST_ARGUMENTS, RESERVED_ARGUMENTS } from '../../shared/reserved-arguments.ts'
import { problemOfLimits } from '../../shared/run-limits.ts'
import { secretValues, withSecrets } from '../../shared/secret-values.ts'
import type { Dispatch } from '../dispatch/dispatch.ts'
import type { Fleet } from '../nodes/fleet.ts'
import type { NodeSignal } from '../nodes/node-client.ts'
import type { Projects } from '../projects/projects.ts'
import type { WaitingReasons } from '../queue/waiting-reasons.ts'
import type { Clock } from '../runtime/clock.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import type { NewJob, Store, StoredJob } from '../store/store.ts'

export interface JobCommandsParts {
  store: Store
  fleet: Fleet
  projects: Projects
  dispatch: Dispatch
  waiting: WaitingReasons
  secretBox: SecretBox
  clock: Clock
  newJobId: () => string
}

/** Who asked for jobs, and the id that a Scrapyd client brought. */
interface Origin {
  source: Job['source']
  jobid?: string | undefined
}

/** Orders about jobs: checked whole before anything is written, then written in one transaction, then acknowledged. */
export class JobCommands {
  readonly #parts: JobCommandsParts

  constructor(parts: JobCommandsParts) {
    this.#parts = parts
  }

  /**
   * Queues one job per spider, all or none. `jobid` (one spider only) is the id a Scrapyd client brought. Rejects with
   * PROJECT_, VERSION_, SPIDER_, NODE_NOT_FOUND, ARGUMENT_RESERVED or BAD_INPUT (secrets, limits).
   */
  async run(input: RunInput, origin: Origin): Promise<Job[]> {
    return this.#completed((await this.queue(input, origin)).map(({ id }) => id))
  }

  /** As `run`, without reading back what became of the jobs: a client that schedules thousands waits for nothing but the disk. */
  async queue(input: RunInput, origin: Origin): Promise<{ id: string; jobid: string }[]> {
    const { projects, store, newJobId } = this.#parts
    this.#checkArguments(input.args ?? {}, origin)
    this.#checkNode(input.nodeId ?? null)
    this.#checkLimits(input.limits ?? null)
    const { settings, args, secretNames } = await this.#sealSecrets(input)
    for (const spider of input.spiders) await projects.resolve(input.project, input.version ?? null, spider)
    const jobs = input.spiders.map((spider): NewJob => {
      const id = newJobId()
      return {
        id,
        jobid: origin.jobid ?? id,
        project: input.project,
        version: input.version ?? null,
        spider,
        settings,
        args,
        secretNames,
        limits: input.limits ?? null,
        retry: input.retry ?? null,
        notBeforeMs: input.notBeforeMs ?? null,
        expiresAtMs: input.expiresAtMs ?? null,
        noOverlap: input.noOverlap ?? false,
        after: input.after ?? [],
        dedupe: null,
        priority: input.priority ?? 0,
        placement: { nodeId: input.nodeId ?? null, tags: [...new Set(input.tags ?? [])].sort() },
        source: origin.source,
        entry: { atMs: this.#parts.clock.nowMs(), text: `Asked ${SOURCE_WORDS[origin.source]}`, evidence: {} }
      }
    })
    await store.enqueueJobs(jobs)
    this.#parts.dispatch.wake()
    return jobs
  }

  /** Queued jobs end at once; live ones are asked to, and end when their node shows it. */
  async cancel(ids: string[], options: { force: boolean }): Promise<{ asked: string[]; alreadyEnded: string[] }> {
    const { store, dispatch, clock } = this.#parts
    await this.#require(ids)
    const entry = { atMs: clock.nowMs(), evidence: {} }
    const done = new Set<string>()
    // A job can go back to the queue (refused by its node) between the two questions: ask until each is answered.
    for (let rest = ids; rest.length > 0; rest = await this.#notEnded(ids.filter((id) => !done.has(id)))) {
      const removed = await store.cancelQueued(rest, { ...entry, text: 'Cancelled while queued' })
      const live = rest.filter((id) => !removed.includes(id))
      const asked = await store.askCancel(live, {
        ...entry,
        text: options.force ? 'Asked to stop at once' : 'Asked to cancel'
      })
      dispatch.cancel(asked, options)
      if (removed.length > 0) dispatch.wake()
      for (const id of [...removed, ...asked]) done.add(id)
    }
    return { asked: [...done], alreadyEnded: ids.filter((id) => !done.has(id)) }
  }

  /**
   * One signal to jobs that run. `isCancel`: it is meant to end them, so their outcome is cancelled, whatever else happens.
   */
  async signal(ids: string[], signal: NodeSignal, options: { isCancel: boolean }): Promise<void> {
    const { store, dispatch, clock } = this.#parts
    if (options.isCancel) {
      await store.askCancel(ids, { atMs: clock.nowMs(), text: `Asked to cancel with ${signal}`, evidence: { signal } })
    }
    dispatch.signal(ids, signal, options)
  }

  /** Undo of a cancel: back to the old place in the queue. */
  async restore(ids: string[]): Promise<string[]> {
    const { store, dispatch, clock } = this.#parts
    await this.#require(ids)
    const restored = await store.restoreCancelled(ids, {
      atMs: clock.nowMs(),
      text: 'Put back into the queue',
      evidence: {}
    })
    dispatch.wake()
    return restored
  }

  /** The same jobs again, as new ones. */
  async retry(ids: string[]): Promise<Job[]> {
    const { store, projects, newJobId, clock } = this.#parts
    const jobs = await this.#require(ids)
    for (const job of jobs) await projects.resolve(job.project, job.version, job.spider)
    const again = jobs.map((job): NewJob => {
      const id = newJobId()
      const { project, version, spider, settings, args, secretNames, limits, retry, noOverlap, priority, placement } =
        job
      const entry = { atMs: clock.nowMs(), text: 'Asked as a retry', evidence: { retryOf: job.id } }
      const same = {
        project,
        version,
        spider,
        settings,
        args,
        secretNames,
        limits,
        retry,
        noOverlap,
        priority,
        placement
      }
      const fresh = { notBeforeMs: null, expiresAtMs: null, after: [], dedupe: null }
      return { ...same, ...fresh, id, jobid: id, source: 'retry', entry }
    })
    await store.enqueueJobs(again)
    this.#parts.dispatch.wake()
    return this.#completed(again.map(({ id }) => id))
  }

  async #notEnded(ids: string[]): Promise<string[]> {
    return (await this.#parts.store.getJobs(ids)).filter(({ state }) => state !== 'ended').map(({ id }) => id)
  }

  async #completed(ids: string[]): Promise<Job[]> {
    return (await this.#parts.store.getJobs(ids)).map((job) => this.#parts.waiting.complete(job))
  }

  async #require(ids: string[]): Promise<StoredJob[]> {
    const jobs = await this.#parts.store.getJobs(ids)
    const known = new Set(jobs.map(({ id }) => id))
    const missing = ids.find((id) => !known.has(id))
    if (missing !== undefined) {
      throw new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${missing}; nothing was changed. Reload the list`)
    }
    return jobs
  }

  #checkArguments(args: Record<string, string>, { source }: Origin): void {
    const isTaken = (name: string) => source === 'scrapyd' && LOST_ARGUMENTS.has(name)
    const reserved = Object.keys(args).find((name) => RESERVED_ARGUMENTS.has(name) && !isTaken(name))
    if (reserved === undefined) return
    throw new ScrapdeckError(
      'ARGUMENT_RESERVED',
      `A spider argument cannot be called "${reserved}": Scrapyd or Scrapy uses that name itself. Rename it in the spider`,
      {
        data: { name: reserved }
      }
    )
  }

  /** From here on nobody but the dispatcher, at the moment of sending, sees the values. */
  async #sealSecrets({ settings = {}, args = {}, secretNames = [] }: RunInput) {
    const run = { settings, args, secretNames: [...new Set(secretNames)] }
    const stranger = run.secretNames.find((name) => !Object.hasOwn(settings, name) && !Object.hasOwn(args, name))
    if (stranger !== undefined) {
      throw new ScrapdeckError(
        'BAD_INPUT',
        `"${stranger}" is to be secret, but no setting or argument has this name. Correct it, or leave it out of secretNames`
      )
    }
    const values = secretValues(run)
    if (values.includes(SECRET_MASK)) {
      throw new ScrapdeckError(
        'BAD_INPUT',
        'A secret value is only the dots that are shown in its place. Enter the true value again, or retry the old job'
      )
    }
    const sealed = new Map<string, string>()
    for (const value of values) sealed.set(value, await this.#parts.secretBox.seal(value))
    return withSecrets(run, (value) => sealed.get(value)!)
  }

  #checkLimits(limits: RunInput['limits']): void {
    const problem = problemOfLimits(limits)
    if (problem !== null) throw new ScrapdeckError('BAD_INPUT', problem)
  }

  #checkNode(nodeId: string | null): void {
    if (nodeId === null || this.#parts.fleet.get(nodeId) !== undefined) return
    throw new ScrapdeckError('NODE_NOT_FOUND', `There is no node ${nodeId} to run on; choose another, or any`)
  }
}

const SOURCE_WORDS: Record<Job['source'], string> = {
  ui: 'in the app',
  api: 'through the API',
  scrapyd: 'through schedule.json',
  demo: 'as the demo',
  retry: 'as a retry',
  adopted: 'on the node itself'
}
