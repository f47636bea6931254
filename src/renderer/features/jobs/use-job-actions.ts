import { useMemo } from 'react'
import { OUTCOMES } from '../../../shared/choices.ts'
import type { Job, JobId, Placement, QueuePlace } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { BULK_MAX } from '../../api/read-jobs.ts'
import type { Client } from '../../api/wire.ts'
import { cancelSoon, usePendingCancels } from '../../ui/cancel-grace.tsx'
import { notifyDone, notifyError, notifyUndo } from '../../ui/notify.tsx'
import { runBulkAct } from './run-bulk-act.tsx'
import { texts } from '../../../shared/texts/ui/jobs.ts'

export type JobActions = ReturnType<typeof jobActions>

/** Actions on jobs, with notices about the result. The engine's events update the screen. */
export function useJobActions(): JobActions {
  const { client } = useApi()
  const mayGoFirst = useMay('queue.order', 'everywhere').may
  return useMemo(() => jobActions(client, mayGoFirst), [client, mayGoFirst])
}

/**
 * The maximum number of jobs in a cancel request that a closing page can still send (64 KiB). Larger cancels have no
 * grace period, because a dialog confirms them.
 */
const SENT_ON_CLOSE_MAX = 1_500

const idsOf = (jobs: readonly Job[]) => jobs.map(({ id }) => id)
const queuedOf = (jobs: readonly Job[]) => jobs.filter(({ state }) => state === 'queued')

/** `mayGoFirst`: the user may set a priority above 0, so Undo can restore one. */
function jobActions(client: Client, mayGoFirst: boolean) {
  const mayGiveBack = (priority: number) => mayGoFirst || priority <= 0
  const restore = (all: readonly JobId[]) => inCalls(all, (ids) => client.jobs.restore({ ids }))
  return {
    /** `force`: skips the grace period before a stop signal. A queued job has none: Undo can restore it. */
    async cancelOne(job: Pick<Job, 'id' | 'project' | 'spider' | 'state'>, force = false): Promise<void> {
      const name = `${job.project}/${job.spider}`
      const send = async () => {
        try {
          const { asked } = await client.jobs.cancel({ ids: [job.id], force })
          if (asked.length === 0) notifyDone(texts.alreadyEnded(name))
          else if (job.state === 'queued')
            notifyUndo(texts.cancelledJob(name), () => client.jobs.restore({ ids: [job.id] }))
          else notifyDone(texts.cancelRequested(name))
        } catch (error) {
          notifyError(texts.couldNotCancel(name), error)
        }
      }
      if (force || job.state === 'queued') await send()
      else cancelSoon({ ids: [job.id], name, send })
    },
    async keepOne(job: Job, keep: boolean): Promise<void> {
      try {
        await client.jobs.keep({ ids: [job.id], keep })
        notifyDone(keep ? texts.keptDone : texts.releasedDone)
      } catch (error) {
        notifyError((keep ? texts.couldNotKeep : texts.couldNotRelease)(`${job.project}/${job.spider}`), error)
      }
    },
    /** The new job. null: the retry failed, and a notice says why. */
    async retryOne(job: Job): Promise<Job | null> {
      try {
        const { jobs } = await client.jobs.retry({ ids: [job.id] })
        notifyDone(texts.retried)
        return jobs[0] ?? null
      } catch (error) {
        notifyError(texts.couldNotRetry(`${job.project}/${job.spider}`), error)
        return null
      }
    },
    cancel(jobs: readonly Job[], force = false): void {
      const live = jobs.filter(({ state }) => state !== 'ended')
      const queued = idsOf(queuedOf(live))
      const isQueued = new Set(queued)
      const ask = async (ids: JobId[]) => (ids.length === 0 ? [] : (await client.jobs.cancel({ ids, force })).asked)
      const send = (ids: JobId[], askAll = ask) =>
        void runBulkAct(client, {
          doing: texts.doingCancel,
          done: texts.doneCancel,
          rowWord: texts.rowCancelling,
          ids,
          ask: askAll,
          until: OUTCOMES,
          pending: texts.pendingCancel,
          skipped: texts.skippedEnded,
          // Only jobs that never left the queue can be restored.
          undo: queued.length === 0 ? undefined : (changed) => restore(changed.filter((id) => isQueued.has(id)))
        })
      const { byId } = usePendingCancels.getState()
      const running = idsOf(live).filter((id) => !isQueued.has(id) && !byId.has(id))
      if (force || running.length > SENT_ON_CLOSE_MAX) return send(idsOf(live))
      if (running.length === 0) return queued.length === 0 ? undefined : send(queued)
      const gone = askInCalls(queued, ask)
      gone.catch(() => {})
      cancelSoon({
        ids: running,
        others: queued.length,
        // Send the queued jobs too, because some of them may have started running in the meantime.
        send: (ids) =>
          send([...queued, ...ids], async (asked) => {
            const isGone = new Set(await gone)
            const rest = await ask(asked.filter((id) => !isGone.has(id)))
            return [...asked.filter((id) => isGone.has(id)), ...rest]
          }),
        undo: async () => restore(await gone)
      })
    },
    retry(jobs: readonly Job[]): Promise<void> {
      const made: JobId[] = []
      return runBulkAct(client, {
        doing: texts.doingRetry,
        done: texts.doneRetry,
        ids: idsOf(jobs.filter(({ state }) => state === 'ended')),
        ask: async (ids) => {
          const again = await client.jobs.retry({ ids })
          made.push(...idsOf(again.jobs))
          return ids.slice(0, again.jobs.length)
        },
        undo: () => inCalls(made, (ids) => client.jobs.cancel({ ids })),
        skipped: texts.skippedRetry
      })
    },
    setPriority(jobs: readonly Job[], priority: number): Promise<void> {
      const queued = queuedOf(jobs)
      return runBulkAct(client, {
        doing: texts.doingPriority,
        done: (count, total) => texts.donePriority(count, total, priority),
        ids: idsOf(queued),
        ask: async (ids) => (await client.jobs.setPriority({ ids, priority })).changed,
        undo: queued.every((job) => mayGiveBack(job.priority))
          ? giveBack(queued, 'priority', (before, ids) => client.jobs.setPriority({ ids, priority: before }))
          : undefined,
        skipped: texts.skippedLeftQueue
      })
    },
    place(jobs: readonly Job[], placement: Placement, where: string): Promise<void> {
      const queued = queuedOf(jobs)
      return runBulkAct(client, {
        doing: texts.doingMove,
        done: (count, total) => texts.doneMove(count, total, where),
        ids: idsOf(queued),
        ask: async (ids) => (await client.jobs.place({ ids, ...placement })).changed,
        undo: giveBack(queued, 'placement', (before, ids) => client.jobs.place({ ids, ...before })),
        skipped: texts.skippedLeftQueue
      })
    },
    /** `undoTo`: the previous place of the jobs, if it can be expressed. */
    reorder(jobs: readonly Job[], to: QueuePlace, undoTo?: QueuePlace): Promise<void> {
      const queued = queuedOf(jobs)
      const { priority } = queued[0] ?? { priority: 0 }
      return runBulkAct(client, {
        doing: texts.doingMove,
        done: to === 'front' ? texts.doneToFront : to === 'back' ? texts.doneToBack : texts.doneReorder,
        series: `order:${queued.length}:${queued[0]?.id}`,
        ids: idsOf(queued),
        ask: async (ids) => (await client.jobs.reorder({ ids, to })).changed,
        undo:
          undoTo && mayGiveBack(priority)
            ? async (changed) => {
                await client.jobs.setPriority({ ids: [...changed], priority })
                await client.jobs.reorder({ ids: [...changed], to: undoTo })
              }
            : undefined,
        skipped: texts.skippedLeftQueue
      })
    },
    runElsewhere(jobs: readonly Job[]): Promise<void> {
      return runBulkAct(client, {
        doing: texts.doingElsewhere,
        done: texts.doneElsewhere,
        ids: idsOf(jobs.filter(({ state }) => state === 'starting' || state === 'running')),
        ask: async (ids) => (await client.jobs.runElsewhere({ ids })).changed,
        skipped: texts.skippedElsewhere
      })
    }
  }
}

async function askInCalls(ids: readonly JobId[], call: (ids: JobId[]) => Promise<JobId[]>): Promise<JobId[]> {
  const changed: JobId[] = []
  await inCalls(ids, async (some) => changed.push(...(await call(some))))
  return changed
}

async function inCalls(ids: readonly JobId[], call: (ids: JobId[]) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < ids.length; from += BULK_MAX) await call(ids.slice(from, from + BULK_MAX))
}

/** Restores a field of the changed jobs, with one call for all jobs that had the same value. */
function giveBack<Field extends keyof Job>(
  jobs: readonly Job[],
  field: Field,
  call: (before: Job[Field], ids: JobId[]) => Promise<unknown>
) {
  return async (changed: readonly JobId[]): Promise<void> => {
    const isChanged = new Set(changed)
    const kept = jobs.filter(({ id }) => isChanged.has(id))
    for (const group of Map.groupBy(kept, (job) => JSON.stringify(job[field])).values())
      await inCalls(idsOf(group), (ids) => call(group[0]![field], ids))
  }
}
