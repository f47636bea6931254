import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Project } from '../../shared/contract/index.ts'
import { useApi } from '../api/api.tsx'
import { useMay } from '../api/use-me.ts'
import { notifyError } from './notify.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

/** The switch moves only after the engine has confirmed the change. */
export function usePauseSwitch() {
  const { query } = useApi()
  const queryClient = useQueryClient()
  const { may, why } = useMay('queue.pause', 'everywhere')
  const { data: status } = useQuery(query.system.status.queryOptions())
  const paused = status?.figures.paused ?? false
  const { mutate, isPending } = useMutation(
    query.system.setPaused.mutationOptions({
      onSuccess: (answer) =>
        queryClient.setQueryData(
          query.system.status.queryKey(),
          (old) => old && { ...old, figures: { ...old.figures, paused: answer.paused } }
        ),
      onError: (error) => notifyError(paused ? texts.couldNotResumeQueue : texts.couldNotPauseQueue, error)
    })
  )
  return {
    paused,
    known: status !== undefined,
    pending: isPending,
    may,
    why,
    toggle: () => mutate({ paused: !paused })
  }
}

export function useProjectPause({ name, settings: { paused } }: Project) {
  const { query } = useApi()
  const { mutate, isPending } = useMutation(
    query.projects.setPaused.mutationOptions({
      onError: (error) => notifyError((paused ? texts.couldNotResumeProject : texts.couldNotPauseProject)(name), error)
    })
  )
  return { paused, isPending, toggle: () => mutate({ project: name, paused: !paused }) }
}
