import { IconAlertTriangle, IconX } from '@tabler/icons-react'
import type { Spread } from './compare-versions.ts'
import classes from './projects.module.css'
import { texts } from '../../../shared/texts/ui/projects.ts'

/** `all 5 nodes`, or the drift: `3 of 5 nodes`. A node without it is no problem: it is sent when a job needs it. */
export function SpreadText({ spread: { present, failed, drifted, total } }: { spread: Spread }) {
  const nodes = total === 1 ? 'node' : 'nodes'
  if (present === total && total > 0)
    return <span className="dim">{total === 1 ? texts.theNode : texts.all(total, nodes)}</span>
  const details = [failed > 0 && texts.failed(failed), drifted > 0 && texts.lostItOrHoldDifferentCode(drifted)].filter(
    Boolean
  )
  return (
    <span title={details.join('; ') || texts.itIsDeployedToANode}>
      {present === 0 ? texts.noNodesYet : texts.of(present, total, nodes)}
      {failed > 0 && (
        <span className={`tone-bad ${classes.spreadFailed}`}>
          <IconX size={12} stroke={2.4} aria-hidden />
          {failed}
          <span className="visually-hidden">{texts.failed2}</span>
        </span>
      )}
      {drifted > 0 && (
        <span className={`tone-wait ${classes.spreadFailed}`}>
          <IconAlertTriangle size={12} stroke={2.2} aria-hidden />
          {drifted}
          <span className="visually-hidden">{texts.drifted}</span>
        </span>
      )}
    </span>
  )
}
