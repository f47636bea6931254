import { IconAlertTriangle, IconX } from '@tabler/icons-react'
import type { Spread } from './compare-versions.ts'
import classes from './projects.module.css'

/** `all 5 nodes`, or the drift: `3 of 5 nodes`. A node without it is no problem: it is sent when a job needs it. */
export function SpreadText({ spread: { present, failed, drifted, total } }: { spread: Spread }) {
  const nodes = total === 1 ? 'node' : 'nodes'
  if (present === total && total > 0)
    return <span className="dim">{total === 1 ? 'the node' : `all ${total} ${nodes}`}</span>
  const details = [
    failed > 0 && `${failed} failed`,
    drifted > 0 && `${drifted} lost it or hold different code under this name`
  ].filter(Boolean)
  return (
    <span title={details.join('; ') || 'It is deployed to a node before its first job there'}>
      {present === 0 ? 'no nodes yet' : `${present} of ${total} ${nodes}`}
      {failed > 0 && (
        <span className={`tone-bad ${classes.spreadFailed}`}>
          <IconX size={12} stroke={2.4} aria-hidden />
          {failed}
          <span className="visually-hidden"> failed</span>
        </span>
      )}
      {drifted > 0 && (
        <span className={`tone-wait ${classes.spreadFailed}`}>
          <IconAlertTriangle size={12} stroke={2.2} aria-hidden />
          {drifted}
          <span className="visually-hidden"> drifted</span>
        </span>
      )}
    </span>
  )
}
