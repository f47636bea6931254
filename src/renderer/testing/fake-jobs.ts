import { fakeFigures } from './fake-figures-of-run.ts'
import { implement } from '@orpc/server'
import { contract, type Job, type RunningJob } from '../../shared/contract/index.ts'
import { defaultsOf, type TakenDefaults, takenDefaults, withDefaults } from '../../shared/job-defaults.ts'
import { jobMatches } from '../api/live/jobs.ts'
import { fakeDetail } from './fake-fleet.ts'
import { fakeUsage } from './fake-local-node.ts'
import { jobOfItem } from './fake-queue.ts'
import type { FakeWorld } from './fake-world.ts'
import { say, waitFor, writtenAs } from '../../shared/texts/message.ts'

/** Operations on single jobs. Those on the whole queue are in fake-queue.ts. */
export function createFakeJobs({ jobs, projects, jobOf, queueJob, saveAll, emit }: FakeWorld) {
  const taken = new Map<string, TakenDefaults>()
  const os = implement(contract)
  const newestFirst = () => [...jobs.values()].sort((left, right) => (left.id < right.id ? 1 : -1))

  return {
    list: os.jobs.list.handler(({ input }) => {
      const matching = newestFirst().filter(
        (job) => jobMatches(job, input) && (input.before === undefined || job.id < input.before)
      )
      const page = matching.slice(0, input.limit)
      return { jobs: page, nextBefore: matching.length > page.length ? (page.at(-1)?.id ?? null) : null }
    }),
    facets: os.jobs.facets.handler(({ input }) => {
      const countBy = (filter: Partial<typeof input>, valueOf: (job: Job) => string | null) => {
        const counts = new Map<string, number>()
        for (const job of jobs.values()) {
          const value = valueOf(job)
          if (value !== null && jobMatches(job, { ...input, ...filter }))
            counts.set(value, (counts.get(value) ?? 0) + 1)
        }
        return [...counts].map(([value, count]) => ({ value, count })).sort((left, right) => right.count - left.count)
      }
      return {
        status: [
          ...countBy({ status: undefined }, (job) => job.status),
          ...countBy({ status: ['unknown'] }, () => 'unknown')
        ],
        project: countBy({ project: undefined }, (job) => job.project),
        nodeId: countBy({ nodeId: undefined }, (job) => job.nodeId)
      }
    }),
    status: os.jobs.status.handler(({ input }) => jobOf(input.id)),
    get: os.jobs.get.handler(({ input }) => fakeDetail(jobOf(input.id), taken.get(input.id))),
    figures: os.jobs.figures.handler(({ input }) => fakeFigures(jobOf(input.id))),
    running: os.jobs.running.handler(() => {
      const live = newestFirst().filter(({ state }) => state === 'starting' || state === 'running')
      return { jobs: live.toReversed().map(asProcess), total: live.length }
    }),
    usage: os.jobs.usage.handler(({ input }) => {
      const { id, nodeId, startedAtMs, endedAtMs } = jobOf(input.id)
      if (nodeId !== 'local' || startedAtMs === null) return { samples: [] }
      return { samples: fakeUsage(id, startedAtMs, endedAtMs ?? Date.now()) }
    }),
    run: os.jobs.run.handler(({ input }) => ({
      jobs: input.spiders.map((spider) => {
        const order = { ...input, spider }
        const settings = projects.get(input.project)?.settings
        const completed = settings === undefined ? order : withDefaults(order, defaultsOf(settings, spider))
        const job = queueJob(jobOfItem(completed))
        taken.set(job.id, takenDefaults(order, completed))
        return job
      })
    })),
    cancel: os.jobs.cancel.handler(({ input }) => {
      const all = input.ids.map(jobOf)
      const alreadyEnded = all.filter(({ state }) => state === 'ended').map(({ id }) => id)
      const live = all.filter(({ state }) => state !== 'ended')
      const askedAtMs = Date.now()
      const asked = saveAll(
        live.map((job) =>
          job.state === 'queued'
            ? {
                ...job,
                state: 'ended',
                status: 'cancelled',
                outcome: 'cancelled',
                waiting: null,
                ...writtenAs('reason', say('reason.cancelled_while_queued')),
                endedAtMs: askedAtMs,
                cancelAskedAtMs: askedAtMs
              }
            : { ...job, cancelAskedAtMs: askedAtMs }
        )
      )
      return { asked, alreadyEnded }
    }),
    restore: os.jobs.restore.handler(({ input }) => ({
      restored: saveAll(
        input.ids.map((id) => ({
          ...jobOf(id),
          state: 'queued',
          status: 'queued',
          outcome: null,
          reason: null,
          endedAtMs: null,
          cancelAskedAtMs: null,
          waiting: waitFor('next_in_line')
        }))
      )
    })),
    keep: os.jobs.keep.handler(({ input }) => {
      const known = input.ids.filter((id) => jobs.has(id))
      for (const id of known) {
        const job = { ...jobs.get(id)!, kept: input.keep }
        jobs.set(id, job)
        emit({ kind: 'job', job })
      }
      return { changed: known }
    }),
    retry: os.jobs.retry.handler(({ input }) => ({
      jobs: input.ids.map((id) => {
        const { project, version, spider, settings, args, secretNames, priority, placement, retry, noOverlap } =
          jobOf(id)
        const same = { project, version, spider, settings, args, secretNames, priority, placement, retry, noOverlap }
        return queueJob({ ...same, limits: jobOf(id).limits, source: 'retry' })
      })
    }))
  }
}

function asProcess(job: Job): RunningJob {
  const { id, project, spider, nodeId, state, status, attemptCount, cancelAskedAtMs, unknownSinceMs } = job
  const { startedAtMs, pages, items, errors } = job
  const minutes = startedAtMs === null ? null : Math.max(1, (Date.now() - startedAtMs) / 60_000)
  const rateOf = (count: number | null) => (count === null || minutes === null ? null : count / minutes)
  const isLocal = nodeId === 'local' && startedAtMs !== null
  return {
    id,
    project,
    spider,
    sentVersion: job.sentVersion ?? job.version,
    nodeId,
    state,
    status,
    attemptCount,
    cancelAskedAtMs,
    unknownSinceMs,
    startedAtMs,
    pages,
    items,
    errors,
    pagesPerMinute: rateOf(pages),
    itemsPerMinute: rateOf(items),
    sentAtMs: startedAtMs ?? job.queuedAtMs,
    pid: startedAtMs === null ? null : 4_000 + (job.rank % 900),
    usage: isLocal ? (fakeUsage(id, startedAtMs, Date.now()).at(-1) ?? null) : null
  }
}
