import { IconAlertTriangle, IconCalendarOff, IconPlayerSkipForward } from '@tabler/icons-react'
import type { Firing } from '../../../shared/contract/index.ts'
import { StatusIcon } from '../../ui/status.tsx'
import { firingTone, firingWord } from './run-bars.tsx'

/** The shape of what became of a moment: of its jobs, or why there are none. */
export function FiringIcon({ firing }: { firing: Firing }) {
  if (firing.state === 'fired')
    return <StatusIcon status={firing.outcome === 'live' ? 'running' : (firing.outcome ?? 'queued')} />
  const Icon = { missed: IconCalendarOff, skipped: IconPlayerSkipForward, failed: IconAlertTriangle }[firing.state]
  return (
    <Icon size={14} stroke={2} className={`tone-${firingTone(firing)}`} role="img" aria-label={firingWord(firing)} />
  )
}
