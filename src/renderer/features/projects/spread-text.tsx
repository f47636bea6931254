import { IconAlertTriangle, IconX } from '@tabler/icons-react'
import type { Spread } from './compare-versions.ts'
import classes from './projects.module.css'
import { texts } from '../../../shared/texts/ui/projects.ts'

/**
 * `all 5 nodes`, `3 of 5 nodes`. A missing version is not a problem, because the engine sends it when a job needs it.
 */
export function SpreadText({ spread: { present, failed, drifted, total } }: { spread: Spread }) {
  if (present === total && total > 0)
    return <span className="dim">{total === 1 ? texts.onTheNode : texts.onAllNodes(total)}</span>
  const details = [failed > 0 && texts.failedCount(failed), drifted > 0 && texts.driftedCount(drifted)].filter(Boolean)
  return (
    <span title={details.join('; ') || texts.onDemandFact}>
      {present === 0 ? texts.noNodesYet : texts.onSomeNodes(present, total)}
      {failed > 0 && (
        <span className={`tone-bad ${classes.spreadFailed}`}>
          <IconX size={12} stroke={2.4} aria-hidden />
          <span aria-hidden>{failed}</span>
          <span className="visually-hidden">{texts.failedCount(failed)}</span>
        </span>
      )}
      {drifted > 0 && (
        <span className={`tone-wait ${classes.spreadFailed}`}>
          <IconAlertTriangle size={12} stroke={2.2} aria-hidden />
          <span aria-hidden>{drifted}</span>
          <span className="visually-hidden">{texts.driftedNodes(drifted)}</span>
        </span>
      )}
    </span>
  )
}
