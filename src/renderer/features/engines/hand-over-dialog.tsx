import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { EngineInfo } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { texts } from '../../../shared/texts/ui/engines.ts'

interface HandOverDialogProps {
  engine: EngineInfo
  onAsked: () => void
  onClose: () => void
}

/** Asks for confirmation, because a handover briefly interrupts all users. */
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
      title={texts.handOverTitle(name)}
      act={texts.handOver}
      onAct={() => mutate({ to: id })}
      isActing={isPending}
      error={error}
      isHarmless
      focusesAct
      onClose={onClose}
    >
      {texts.handOverEffect}
    </ConfirmDialog>
  )
}
