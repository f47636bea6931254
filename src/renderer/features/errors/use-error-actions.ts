import { useMemo } from 'react'
import type { ErrorGroup, ErrorState } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'

const DONE: Record<ErrorState, string> = { open: 'Reopened', resolved: 'Resolved', ignored: 'Ignored' }

export type SetErrorState = (group: ErrorGroup, state: ErrorState) => Promise<void>

/** Sets the state of an error at once and offers Undo; the screen changes when the engine's event arrives. */
export function useSetErrorState(): SetErrorState {
  const { client } = useApi()
  return useMemo(
    () => async (group, state) => {
      const ids = [group.id]
      try {
        await client.errors.setState({ ids, state })
        const undo = () => client.errors.setState({ ids, state: group.state })
        notifyUndo(`${DONE[state]}: ${group.title}`, undo, `error ${group.id}`)
      } catch (error) {
        notifyError('Could not change the error', error)
      }
    },
    [client]
  )
}
