import type { Occurrence } from '../../../shared/contract/index.ts'
import { useNow } from '../../ui/clock.ts'
import { formatInstant } from '../../ui/time.tsx'
import type { ClockChange } from './clock-changes.ts'
import classes from './next-runs.module.css'
import { localZone } from '../../ui/moment.ts'
import { formatIn, formatMoment, formatTimeBeside } from './zoned-time.ts'
import { texts } from '../../../shared/texts/ui/schedules.ts'

const BADGES: Record<Exclude<Occurrence['kind'], 'normal'>, { word: string; text: string }> = {
  gap: { word: texts.gapBadge, text: texts.gapBadgeHint },
  first_of_two: { word: texts.firstOfTwo, text: texts.firstOfTwoHint },
  second_of_two: { word: texts.secondOfTwo, text: texts.secondOfTwoHint }
}

interface NextRunsProps {
  occurrences: readonly Occurrence[]
  zone: string
  changes: readonly ClockChange[]
}

export function NextRuns({ occurrences, zone, changes }: NextRunsProps) {
  const nowMs = useNow()
  const here = localZone()
  const isElsewhere = !sameClock(zone, here, nowMs)
  const rows = [
    ...occurrences.map((occurrence) => ({ atMs: occurrence.nominalMs, occurrence, change: null })),
    // A clock change before the last listed run is shown among the runs. Later changes have their own lines below.
    ...changes
      .filter(({ atMs }) => occurrences.some(({ nominalMs }) => nominalMs >= atMs))
      .map((change) => ({ atMs: change.atMs - 1, occurrence: null, change }))
  ].sort((left, right) => left.atMs - right.atMs)
  const later = changes.filter(({ atMs }) => !occurrences.some(({ nominalMs }) => nominalMs >= atMs))
  return (
    <>
      <table className={classes.runs} aria-label={texts.nextRuns}>
        <thead>
          <tr>
            <th scope="col">{zone}</th>
            {isElsewhere && <th scope="col">{texts.inYourTime}</th>}
            <th scope="col">{texts.fromNow}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ atMs, occurrence, change }) =>
            occurrence === null ? (
              <tr key={`change ${atMs}`} className={classes.change}>
                <td colSpan={3}>
                  <ClockChangeText change={change} />
                </td>
              </tr>
            ) : (
              <tr key={atMs}>
                <td>
                  <time dateTime={new Date(atMs).toISOString()} title={occurrence.local}>
                    {formatMoment(atMs, zone, nowMs)}
                  </time>
                  {occurrence.kind !== 'normal' && (
                    <span className={classes.badge} title={BADGES[occurrence.kind].text}>
                      {BADGES[occurrence.kind].word}
                    </span>
                  )}
                </td>
                {isElsewhere && (
                  <td className="dim" title={formatInstant(atMs)}>
                    {formatTimeBeside(atMs, here, zone)}
                  </td>
                )}
                <td className="faint">{formatIn(atMs - nowMs)}</td>
              </tr>
            )
          )}
        </tbody>
      </table>
      {later.map((change) => (
        <div key={change.atMs} className={classes.later}>
          <ClockChangeText change={change} />
        </div>
      ))}
    </>
  )
}

function ClockChangeText({ change }: { change: ClockChange | null }) {
  if (change === null) return null
  return (
    <span data-clock-change>
      <span className={classes.badge}>{change.title}</span> <span className="dim">{change.effect}</span>
    </span>
  )
}

/** Whether two zones show the same time all year (`UTC` and `Etc/UTC`), so that one column is enough. */
function sameClock(zone: string, other: string, atMs: number): boolean {
  return [0, 91, 182, 273].every((days) => {
    const moment = atMs + days * 86_400_000
    return formatMoment(moment, zone, atMs) === formatMoment(moment, other, atMs)
  })
}
