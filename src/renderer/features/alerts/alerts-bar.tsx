import { Button } from '@mantine/core'
import type { Alert } from '../../../shared/contract/index.ts'
import { MarksBar } from '../../ui/marks-bar.tsx'
import { isOpen } from './use-alert-actions.ts'

interface AlertsBarProps {
  marked: readonly Alert[]
  onAcknowledge: (alerts: readonly Alert[]) => void
  onSilence: (alerts: readonly Alert[]) => void
  onClear: () => void
}

/** The actions on all marked alerts. */
export function AlertsBar({ marked, onAcknowledge, onSilence, onClear }: AlertsBarProps) {
  const open = marked.filter(isOpen)
  const firing = marked.filter(({ state }) => state === 'firing')
  return (
    <MarksBar count={marked.length} noun="alert" onClear={onClear}>
      <Button
        disabled={open.length === 0}
        title={open.length === 0 ? 'All of them are acknowledged or have ended' : undefined}
        onClick={() => onAcknowledge(open)}
      >
        Acknowledge {open.length > 0 && open.length}
      </Button>
      <Button
        disabled={firing.length === 0}
        title={firing.length === 0 ? 'All of them have ended' : undefined}
        onClick={() => onSilence(firing)}
      >
        Silence {firing.length > 0 && firing.length}…
      </Button>
    </MarksBar>
  )
}
