import { IconAlertOctagonFilled, IconAlertTriangleFilled, IconInfoCircleFilled } from '@tabler/icons-react'
import type { Alert, AlertSeverity } from '../../shared/contract/index.ts'
import classes from './status.module.css'
import type { Tone } from './status.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

/** Color, shape and word of each severity, worst first. The shapes must be distinguishable without the color. */
export const SEVERITY_LOOK: Record<AlertSeverity, { tone: Tone; Icon: typeof IconInfoCircleFilled; word: string }> = {
  critical: { tone: 'bad', Icon: IconAlertOctagonFilled, word: texts.critical },
  warning: { tone: 'wait', Icon: IconAlertTriangleFilled, word: texts.warning },
  info: { tone: 'run', Icon: IconInfoCircleFilled, word: texts.info }
}

export const SEVERITIES = Object.keys(SEVERITY_LOOK) as AlertSeverity[]

export function SeverityIcon({ severity, size = 14 }: { severity: AlertSeverity; size?: number }) {
  const { tone, Icon, word } = SEVERITY_LOOK[severity]
  return <Icon className={`tone-${tone}`} size={size} role="img" aria-label={word} style={{ flex: 'none' }} />
}

export function SeverityText({ severity }: { severity: AlertSeverity }) {
  const { tone, Icon, word } = SEVERITY_LOOK[severity]
  return (
    <span className={`${classes.status} tone-${tone}`}>
      <Icon size={14} aria-hidden />
      {word}
    </span>
  )
}

export const worstOf = (alerts: readonly Pick<Alert, 'severity'>[]): AlertSeverity | null =>
  SEVERITIES.find((severity) => alerts.some((alert) => alert.severity === severity)) ?? null
