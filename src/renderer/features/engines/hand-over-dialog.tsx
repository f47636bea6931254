import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { EngineInfo } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { texts } from '../../../shared/texts/ui/engines.ts'

export const WHAT_A_HANDOVER_DOES = texts.forASecondOrTwoRequests

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
      title={texts.handOverTo2(name)}
      act={texts.handOver2}
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
