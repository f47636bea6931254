import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Schedule } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyDone, notifyError, notifyUndo } from '../../ui/notify.tsx'
import { texts } from '../../../shared/texts/ui/schedules.ts'

const nameAll = (schedules: readonly Schedule[]): string => {
  const [only] = schedules
  return schedules.length === 1 && only !== undefined ? only.name : texts.scheduleCount(schedules.length)
}

/** The engine's events update the screen. */
export function useScheduleActions() {
  const { client, query } = useApi()
  const queryClient = useQueryClient()
  const navigate = useNavigate()

  const setPaused = async (schedules: readonly Schedule[], paused: boolean, note: string | null = null) => {
    const concerned = schedules.filter((schedule) => schedule.paused !== paused)
    if (concerned.length === 0) return
    const ids = concerned.map(({ id }) => id)
    try {
      await client.schedules.setPaused({ ids, paused, note })
      const before = concerned[0]?.pauseNote ?? null
      notifyUndo(
        (paused ? texts.pausedDone : texts.resumedDone)(nameAll(concerned), concerned.length),
        () => client.schedules.setPaused({ ids, paused: !paused, note: paused ? null : before }),
        `pause:${ids.join()}`
      )
    } catch (error) {
      notifyError((paused ? texts.couldNotPause : texts.couldNotResume)(nameAll(concerned)), error)
    }
  }
  const runNow = useMutation({
    mutationFn: async (schedules: readonly Schedule[]) => {
      const firings = []
      for (const { id } of schedules) firings.push((await client.schedules.runNow({ id })).firing)
      return firings
    },
    onSuccess: (firings, schedules) => {
      const jobs = firings.flatMap(({ jobIds }) => jobIds)
      const [only] = firings
      if (only !== undefined && jobs.length === 0)
        return notifyDone(texts.madeNoJob(nameAll(schedules), only.text || only.reason))
      notifyDone(texts.jobsQueued(nameAll(schedules), jobs.length))
      const [job] = jobs
      if (jobs.length === 1 && job !== undefined) void navigate({ to: '/jobs', search: { job, tab: 'log' } })
    },
    onError: (error, schedules) => notifyError(texts.couldNotRun(nameAll(schedules)), error)
  })
  const remove = useMutation({
    mutationFn: (schedules: readonly Schedule[]) => client.schedules.remove({ ids: schedules.map(({ id }) => id) }),
    onSuccess: (_, schedules) => {
      notifyDone(texts.removedDone(nameAll(schedules), schedules.length))
      void queryClient.invalidateQueries({ queryKey: query.schedules.list.key() })
    },
    onError: (error, schedules) => notifyError(texts.couldNotRemoveSchedules(nameAll(schedules)), error)
  })
  return { setPaused, runNow: runNow.mutate, isRunning: runNow.isPending, remove }
}
