import { IconArrowsLeftRight, IconBellOff, IconUserCheck } from '@tabler/icons-react'
import type { Alert } from '../../../shared/contract/index.ts'
import { formatInstant } from '../../ui/time.tsx'
import { FLAPPING_TEXT, MUTED } from './alert-words.ts'
import classes from './alerts.module.css'

/** Who took it, why nobody is told of it, and that it comes and goes. */
export function AlertMarks({ alert: { acknowledged, muted, isFlapping } }: { alert: Alert }) {
  return (
    <span className={classes.marksOfAlert}>
      {acknowledged !== null && (
        <span
          className={classes.mark}
          title={`Acknowledged by ${acknowledged.by} on ${formatInstant(acknowledged.atMs)}`}
        >
          <IconUserCheck size={13} aria-hidden />
          <span className="visually-hidden">acknowledged by </span>
          {acknowledged.by}
        </span>
      )}
      {muted !== null && (
        <span className={classes.mark} title={MUTED[muted].text}>
          <IconBellOff size={13} aria-hidden />
          {MUTED[muted].word}
        </span>
      )}
      {isFlapping && (
        <span className={classes.mark} title={FLAPPING_TEXT}>
          <IconArrowsLeftRight size={13} aria-hidden />
          flapping
        </span>
      )}
    </span>
  )
}
