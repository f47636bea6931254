import { IconAlertOctagonFilled, IconAlertTriangleFilled, IconInfoCircleFilled } from '@tabler/icons-react'
import type { Alert, AlertSeverity } from '../../shared/contract/index.ts'
import classes from './status.module.css'
import type { Tone } from './status.tsx'

/** Colour and shape of each severity: the shape alone must be enough. The worst first. */
export const SEVERITY_LOOK: Record<AlertSeverity, { tone: Tone; Icon: typeof IconInfoCircleFilled }> = {
  critical: { tone: 'bad', Icon: IconAlertOctagonFilled },
  warning: { tone: 'wait', Icon: IconAlertTriangleFilled },
  info: { tone: 'run', Icon: IconInfoCircleFilled }
}

export const SEVERITIES = Object.keys(SEVERITY_LOOK) as AlertSeverity[]

/** The shape of a severity, with its name for screen readers. */
export function SeverityIcon({ severity, size = 14 }: { severity: AlertSeverity; size?: number }) {
  const { tone, Icon } = SEVERITY_LOOK[severity]
  return <Icon className={`tone-${tone}`} size={size} role="img" aria-label={severity} style={{ flex: 'none' }} />
}

/** Shape and word. */
export function SeverityText({ severity }: { severity: AlertSeverity }) {
  const { tone, Icon } = SEVERITY_LOOK[severity]
  return (
    <span className={`${classes.status} tone-${tone}`}>
      <Icon size={14} aria-hidden />
      {severity}
    </span>
  )
}

/** null: there is none. */
export const worstOf = (alerts: readonly Pick<Alert, 'severity'>[]): AlertSeverity | null =>
  SEVERITIES.find((severity) => alerts.some((alert) => alert.severity === severity)) ?? null
