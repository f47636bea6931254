import { formatCount } from '../../../ui/numbers.ts'
import classes from './calendar.module.css'
import { RUN_LOOKS } from '../run-look.tsx'
import type { OftenRow } from './week.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

/** A day of a schedule that runs often: one bar per hour, in the color of its worst outcome. */
export function OftenStrip({ day }: { day: OftenRow['days'][number] }) {
  const most = Math.max(1, ...day.hours.map(({ count }) => count))
  const bad = day.hours.filter(({ look }) => look !== null && RUN_LOOKS[look].tone === 'bad').length
  const words = texts.runsAndFailures(day.count, bad)
  return (
    <span className={classes.strip} role="img" aria-label={words} title={words}>
      {day.hours.map(({ count, look }, hour) => (
        <i
          key={hour}
          className={look === null ? undefined : `tone-${RUN_LOOKS[look].tone}`}
          data-look={look ?? undefined}
          style={{ height: count === 0 ? 0 : `${25 + (count / most) * 75}%` }}
        />
      ))}
      <b>{day.count === 0 ? '' : formatCount(day.count)}</b>
    </span>
  )
}
