import { useApi } from '../../api/api.tsx'
import type { Job } from '../../../shared/contract/index.ts'
import { notifyDone, notifyError, notifyUndo } from '../../ui/notify.tsx'
import { plural } from '../../ui/numbers.ts'

export interface JobActions {
  cancel: (jobs: readonly Job[], force?: boolean) => Promise<void>
  retry: (jobs: readonly Job[]) => Promise<Job[]>
}

/** Acts on jobs, with words for what happened. What changes on the screen comes back as events, not from here. */
export function useJobActions(): JobActions {
  const { client } = useApi()
  return {
    async cancel(jobs, force = false) {
      const live = jobs.filter(({ state }) => state !== 'ended')
      if (live.length === 0) return
      try {
        const { asked } = await client.jobs.cancel({ ids: live.map(({ id }) => id), force })
        // Only what never left the queue can come back; a running spider is told to stop at once.
        const queued = live.filter(({ id, state }) => state === 'queued' && asked.includes(id)).map(({ id }) => id)
        const running = asked.length - queued.length
        const words = [
          queued.length > 0 ? `Cancelled ${nameOf(jobs, queued.length)}.` : '',
          running > 0 ? `Asked ${plural(running, 'running job')} to stop.` : ''
        ]
        const text = words.filter((each) => each !== '').join(' ')
        if (queued.length > 0) notifyUndo(text, () => client.jobs.restore({ ids: queued }))
        else if (asked.length > 0) notifyDone(text)
        else notifyDone('Nothing to cancel: all of them had ended already.')
      } catch (error) {
        notifyError(`Could not cancel ${nameOf(jobs, live.length)}`, error)
      }
    },
    async retry(jobs) {
      const ended = jobs.filter(({ state }) => state === 'ended')
      if (ended.length === 0) return []
      try {
        const again = await client.jobs.retry({ ids: ended.map(({ id }) => id) })
        notifyDone(`Queued ${plural(again.jobs.length, 'new job')} like ${ended.length === 1 ? 'it' : 'them'}.`)
        return again.jobs
      } catch (error) {
        notifyError(`Could not retry ${nameOf(jobs, ended.length)}`, error)
        return []
      }
    }
  }
}

function nameOf(jobs: readonly Job[], count: number): string {
  const [only] = jobs
  return jobs.length === 1 && only !== undefined ? `${only.project}/${only.spider}` : plural(count, 'job')
}
