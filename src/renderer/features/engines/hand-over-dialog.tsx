import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { EngineInfo } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'

export const WHAT_A_HANDOVER_DOES =
  'For a second or two, requests may fail, live views reconnect, and browsers may have to log in again. Running spiders continue, and no job is lost.'

interface HandOverDialogProps {
  engine: EngineInfo
  onAsked: () => void
  onClose: () => void
}

/** Asks first, because it interrupts everybody for a moment. */
export function HandOverDialog({ engine: { id, name }, onAsked, onClose }: HandOverDialogProps) {
  const { query } = useApi()
  const queries = useQueryClient()
  const { mutate, isPending, error } = useMutation(
    query.engines.handOver.mutationOptions({
      onSuccess: () => {
        onAsked()
        onClose()
        void queries.invalidateQueries({ queryKey: query.engines.list.key() })
      }
    })
  )
  return (
    <ConfirmDialog
      title={`Hand over to ${name}?`}
      act="Hand over"
      onAct={() => mutate({ to: id })}
      isActing={isPending}
      error={error}
      isHarmless
      focusesAct
      onClose={onClose}
    >
      {WHAT_A_HANDOVER_DOES}
    </ConfirmDialog>
  )
}
