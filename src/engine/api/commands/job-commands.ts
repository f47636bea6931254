import pLimit from 'p-limit'
import { actorMayGoFirst, actorName, asActorMayRun, refuseHighPriority } from '../../access/acting.ts'
import type { Job, JobId, Placement, QueuePlace, RunInput, RunItem } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import type { Dispatch } from '../../jobs/dispatch/dispatch.ts'
import type { NodeSignal } from '../../nodes/node-client.ts'
import type { WaitingReasons } from '../../jobs/queue/waiting-reasons.ts'
import { defaultsOf, readTaken, type TakenDefaults } from '../../../shared/job-defaults.ts'
import { type Message, say } from '../../../shared/texts/message.ts'
import type { TimelineEntry } from '../../model/attempt-change.ts'
import { type NewJob, PLAIN_JOB, type StoredJob } from '../../model/records.ts'
import type { JobRetentionStore, JobStore, QueueStore } from '../../storage/store.ts'
import { checkNode, prepareJobs, type Origin, type PrepareJobsParts } from './prepare-jobs.ts'

/** The number of timelines to read in parallel. Each read waits for the store's thread. */
const TIMELINES_AT_ONCE = 64

export interface JobCommandsParts extends PrepareJobsParts {
  store: JobStore & QueueStore & Pick<JobRetentionStore, 'keepJobs'>
  dispatch: Dispatch
  waiting: WaitingReasons
}

/**
 * Most commands validate everything, write in one transaction, then respond. `cancel` can need several transactions.
 */
export class JobCommands {
  readonly #parts: JobCommandsParts

  constructor(parts: JobCommandsParts) {
    this.#parts = parts
  }

  /**
   * Queues one job per spider, all or none. A repeated request with the same dedupe key returns the existing job.
   * Rejects like `prepareJobs`, and with JOB_NOT_FOUND if a dependency does not exist.
   */
  async run(input: RunInput, origin: Origin): Promise<Job[]> {
    return this.#completed((await this.queue(input, origin)).map(({ id }) => id))
  }

  /** Like `run`, but returns only ids, so that clients need not wait until the jobs are read back. */
  async queue(input: RunInput, origin: Origin): Promise<{ id: JobId; jobid: string }[]> {
    const { spiders, ...rest } = input
    if (rest.dedupe != null && spiders.length > 1) {
      throw new ScrapdeckError('BAD_INPUT', sentence('api.dedupe_key_for_one_job'))
    }
    const { jobs, ids } = await this.#enqueue(
      spiders.map((spider) => ({ ...rest, spider })),
      origin
    )
    return jobs.map(({ jobid }, index) => ({ id: ids[index]!, jobid }))
  }

  /** Queues many jobs in one transaction, all or none. Returns ids in the order of the items. Rejects like `run`. */
  async runMany(items: RunItem[], origin: Origin): Promise<{ ids: JobId[]; deduplicated: number }> {
    const { jobs, ids } = await this.#enqueue(items, origin)
    return { ids, deduplicated: jobs.reduce((count, { id }, index) => count + Number(id !== ids[index]), 0) }
  }

  /** Replaces a queued job that never ran, but keeps its id. Rejects like `run`, and with CHANGED_MEANWHILE. */
  async replaceQueued(id: JobId, { spiders, ...rest }: RunInput, origin: Origin): Promise<void> {
    const { ids } = await this.#enqueue([{ ...rest, spider: spiders[0]! }], origin, ([job]) =>
      this.#parts.store.changeQueued({
        ...job!,
        id,
        entry: this.#entry(say('timeline.order_changed', by()), job!.entry.evidence)
      })
    )
    const why = sentence('api.job_not_queued', { id })
    if (ids.length === 0) throw new ScrapdeckError('CHANGED_MEANWHILE', why)
  }

  /** Queued jobs end immediately. Live jobs get a cancel request and end when their node confirms it. */
  async cancel(
    ids: JobId[],
    options: { force: boolean; waitSeconds?: number | undefined }
  ): Promise<{ asked: JobId[]; alreadyEnded: JobId[] }> {
    const { store, dispatch } = this.#parts
    await this.#requireAll(ids)
    const { force, waitSeconds } = options
    const limit = waitSeconds === undefined ? {} : { waitSeconds }
    const done = new Set<JobId>()
    // Repeats for jobs that returned to the queue between the two calls because a node refused them.
    for (let rest = ids; rest.length > 0; rest = await this.#notEnded(ids.filter((id) => !done.has(id)))) {
      for (const id of await store.cancelQueued(rest, this.#entry(say('timeline.cancelled_while_queued', by()))))
        done.add(id)
      const asked = await store.askCancel(
        rest.filter((id) => !done.has(id)),
        force
          ? this.#entry(say('timeline.immediate_stop_requested', by()), { ...limit, force: true })
          : this.#entry(say('timeline.cancel_requested', by()), limit)
      )
      dispatch.cancel(asked, options)
      for (const id of asked) done.add(id)
    }
    dispatch.wake()
    return { asked: [...done], alreadyEnded: ids.filter((id) => !done.has(id)) }
  }

  /** Sends one signal to running jobs. With `isCancel`, their outcome is `cancelled`. */
  async signal(ids: JobId[], signal: NodeSignal, options: { isCancel: boolean }): Promise<void> {
    const { store, dispatch } = this.#parts
    const message = say('timeline.cancel_requested_by_signal', { signal, ...by() })
    if (options.isCancel) await store.askCancel(ids, this.#entry(message, { signal }))
    dispatch.signal(ids, signal, options)
  }

  /** Undoes a cancel: the jobs return to their old position in the queue. */
  async restore(ids: JobId[]): Promise<string[]> {
    const { store, dispatch } = this.#parts
    await this.#requireAll(ids)
    const restored = await store.restoreCancelled(ids, this.#entry(say('timeline.restored', by())))
    dispatch.wake()
    return restored
  }

  /** Queues copies of the jobs with the same retry and overlap policy, without start time or dependencies. */
  async queueCopies(ids: JobId[]): Promise<Job[]> {
    const { store, projects, newJobId, dispatch } = this.#parts
    const jobs = await this.#require(ids)
    const resolved = new Set<string>()
    for (const { project, version, spider } of jobs) {
      const name = `${project}\n${version}\n${spider}`
      if (!resolved.has(name)) projects.catalog.resolve(project, version, spider)
      resolved.add(name)
    }
    const taken = await this.#takenDefaults(jobs)
    const again = jobs.map((job): NewJob => {
      const id = newJobId()
      const { project, version, spider, settings, args, env, userId } = job
      const { secretNames, limits, retry, noOverlap, placement } = job
      const same = { project, version, spider, settings, args, env, userId, secretNames, limits, retry, noOverlap }
      // Lowers the priority if the user who retries the job may not set it.
      const priority = actorMayGoFirst() ? job.priority : Math.min(job.priority, 0)
      const evidence = { retryOf: job.id, ...taken.get(job.id) }
      const entry = this.#entry(say('timeline.queued', { source: 'retry', ...by() }), evidence)
      return { ...PLAIN_JOB, ...same, placement, priority, id, jobid: id, source: 'retry', entry }
    })
    await store.enqueueJobs(again)
    dispatch.wake()
    return this.#completed(again.map(({ id }) => id))
  }

  keep(ids: JobId[], isKept: boolean): Promise<JobId[]> {
    const message = say(isKept ? 'timeline.kept' : 'timeline.no_longer_kept', by())
    return this.#parts.store.keepJobs(ids, isKept, this.#entry(message, { kept: isKept }))
  }

  /** Changes queued jobs only and returns their ids. The same applies to `moveInQueue` and `setPlacement`. */
  async setPriority(ids: JobId[], priority: number): Promise<string[]> {
    refuseHighPriority(priority)
    const entry = this.#entry(say('timeline.priority_set', { priority, ...by() }), { priority })
    return this.#changed(await this.#parts.store.setPriority(ids, priority, entry))
  }

  /** Moves jobs within their priority: before all others, behind all others, or right before one job. */
  async moveInQueue(ids: JobId[], to: QueuePlace): Promise<string[]> {
    const message =
      typeof to === 'string'
        ? say(to === 'front' ? 'timeline.moved_to_front' : 'timeline.moved_to_back', by())
        : say('timeline.moved_before', { jobId: to.before, ...by() })
    const moved = typeof to === 'string' ? ids : ids.filter((id) => id !== to.before)
    if (typeof to !== 'string') await this.#refuseHigherPlace(moved, to.before)
    return this.#changed(await this.#parts.store.reorder(moved, to, this.#entry(message)))
  }

  /** Throws ROLE_REQUIRED if a job would move before a job with a higher priority and thereby get that priority. */
  async #refuseHigherPlace(moved: readonly JobId[], before: JobId): Promise<void> {
    if (actorMayGoFirst()) return
    const jobs = await this.#parts.store.getJobs([...moved, before])
    const priority = jobs.find(({ id }) => id === before)?.priority ?? 0
    if (jobs.some((job) => job.id !== before && job.priority < priority)) refuseHighPriority(priority)
  }

  /** Sets which node or tags the jobs need. Rejects with NODE_NOT_FOUND. */
  async setPlacement(ids: JobId[], placement: Placement): Promise<string[]> {
    const { store, fleet } = this.#parts
    const { nodeId } = placement
    if (nodeId !== null) checkNode(nodeId, fleet)
    const tags = [...new Set(placement.tags)].sort()
    const where = [...(nodeId === null ? [] : [fleet.get(nodeId)!.stored.name]), ...tags]
    const entry = this.#entry(say('timeline.placed', { where, ...by() }), { nodeId, tags })
    return this.#changed(await store.placeQueued(ids, { nodeId, tags }, entry))
  }

  /** Gives up on live jobs whose node does not respond, queues them again, and returns their ids. */
  async runElsewhere(ids: JobId[]): Promise<string[]> {
    return this.#parts.dispatch.runElsewhere(ids)
  }

  async #enqueue(
    ordered: RunItem[],
    origin: Origin,
    write = (jobs: NewJob[]): Promise<JobId[]> => this.#parts.store.enqueueJobs(jobs)
  ): Promise<{ jobs: NewJob[]; ids: JobId[] }> {
    const items = ordered.map((item) => {
      refuseHighPriority(item.priority)
      return asActorMayRun(item, { isCrawl: origin.source === 'crawl' })
    })
    const jobs = await prepareJobs(items, origin, this.#parts)
    const ids = await write(jobs)
    this.#parts.dispatch.wake()
    return { jobs, ids }
  }

  /** Returns which values of the jobs, and thus of their copies, came from defaults. */
  async #takenDefaults(jobs: readonly StoredJob[]): Promise<Map<JobId, TakenDefaults>> {
    const { store, projects } = this.#parts
    const taken = new Map<JobId, TakenDefaults>()
    const completed = jobs.filter(({ project, spider }) => defaultsOf(projects.settingsOf(project), spider) !== null)
    await pLimit(TIMELINES_AT_ONCE).map(completed, async ({ id }) =>
      taken.set(id, readTaken(await store.listTimeline(id)))
    )
    return taken
  }

  #changed(ids: JobId[]): string[] {
    if (ids.length > 0) this.#parts.dispatch.wake()
    return ids
  }

  #entry(message: Message, evidence: TimelineEntry['evidence'] = {}): TimelineEntry {
    return { atMs: this.#parts.clock.nowMs(), message, evidence }
  }

  async #notEnded(ids: JobId[]): Promise<JobId[]> {
    if (ids.length === 0) return []
    return (await this.#parts.store.getJobs(ids)).filter(({ state }) => state !== 'ended').map(({ id }) => id)
  }

  async #completed(ids: JobId[]): Promise<Job[]> {
    return (await this.#parts.store.getJobs(ids)).map((job) => this.#parts.waiting.describeJob(job))
  }

  async #requireAll(ids: JobId[]): Promise<void> {
    const each = [...new Set(ids)]
    const counts = await this.#parts.store.countStatuses(each)
    const known = Object.values(counts).reduce((sum, count) => sum + count, 0)
    if (known < each.length) await this.#require(each)
  }

  async #require(ids: JobId[]): Promise<StoredJob[]> {
    const jobs = await this.#parts.store.getJobs(ids)
    const known = new Set(jobs.map(({ id }) => id))
    const missing = ids.find((id) => !known.has(id))
    if (missing !== undefined) {
      throw new ScrapdeckError('JOB_NOT_FOUND', sentence('api.no_job', { missing }))
    }
    return jobs
  }
}

const by = () => ({ by: actorName() })
