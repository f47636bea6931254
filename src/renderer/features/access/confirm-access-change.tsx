import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { useReadAccess } from './use-access.ts'

interface ConfirmAccessChangeProps {
  title: string
  act: string
  change: () => Promise<unknown>
  onDone?: () => void
  onClose: () => void
  children: ReactNode
}

export function ConfirmAccessChange({ change, onDone, onClose, ...dialog }: ConfirmAccessChangeProps) {
  const readAgain = useReadAccess()
  const { mutate, isPending, error } = useMutation({
    mutationFn: change,
    onSuccess: () => {
      onClose()
      onDone?.()
      return readAgain()
    }
  })
  return <ConfirmDialog {...dialog} onAct={() => mutate()} isActing={isPending} error={error} onClose={onClose} />
}
