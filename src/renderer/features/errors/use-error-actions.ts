import { useMemo } from 'react'
import type { ErrorGroup, ErrorState } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { texts } from '../../../shared/texts/ui/errors.ts'

const DONE: Record<ErrorState, string> = { open: texts.reopened, resolved: texts.resolved, ignored: texts.ignored }

export type SetErrorState = (group: ErrorGroup, state: ErrorState) => Promise<void>

/** The engine's event updates the screen. */
export function useSetErrorState(): SetErrorState {
  const { client } = useApi()
  return useMemo(
    () => async (group, state) => {
      const ids = [group.id]
      try {
        await client.errors.setState({ ids, state })
        const undo = () => client.errors.setState({ ids, state: group.state })
        notifyUndo(texts.changed(DONE[state], group.title), undo, `error:${group.id}`)
      } catch (error) {
        notifyError(texts.couldNotChangeError, error)
      }
    },
    [client]
  )
}
