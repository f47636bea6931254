import type { AlertNews, AlertSeverity, AlertView } from '../../shared/contract/index.ts'
import type { AlertMessage, Episode } from './episodes.ts'

/** Of each kind, in one message: more is read in the app. */
const LISTED_MAX = 20
const TITLE_MAX = 200

const RANK: Record<AlertSeverity, number> = { critical: 2, warning: 1, info: 0 }

/** What a message says, whatever the channel. Pure. */
export function newsOf({ kind, ruleId, groupId, firing, resolved, stillFiring, limit }: AlertMessage): AlertNews {
  const shown = firing.length > 0 ? firing : resolved
  const first = shown[0]!
  return {
    ...{ kind, ruleId, groupId },
    ...{ ruleName: first.ruleName, owner: first.owner, severity: worstOf(shown), title: titleOf(shown) },
    firing: firing.slice(0, LISTED_MAX).map(viewOf),
    resolved: resolved.slice(0, LISTED_MAX).map(viewOf),
    moreFiring: Math.max(0, firing.length - LISTED_MAX),
    moreResolved: Math.max(0, resolved.length - LISTED_MAX),
    ...{ stillFiring, limit }
  }
}

const worstOf = (alerts: readonly Episode[]): AlertSeverity =>
  alerts.map(({ severity }) => severity).reduce((one, other) => (RANK[one] >= RANK[other] ? one : other))

function titleOf(alerts: readonly Episode[]): string {
  const [first] = alerts
  const text = alerts.length === 1 ? first!.text : `${alerts.length} alerts: ${first!.text}`
  return text.length > TITLE_MAX ? `${text.slice(0, TITLE_MAX - 1)}…` : text
}

const viewOf = ({
  id,
  severity,
  watch,
  subject,
  text,
  value,
  labels,
  firedAtMs,
  resolvedAtMs
}: Episode): AlertView => ({
  ...{ id, severity, watch, subject, text, value, labels, resolvedAtMs },
  firedAtMs: firedAtMs!
})
