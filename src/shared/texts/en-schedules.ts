import { formatDuration } from '../time.ts'
import type { Words } from './parts.ts'

const WHILE = {
  stopped: 'Scrapdeck was not running',
  clock: 'the machine slept or its clock was set ahead',
  busy: 'the engine was busy'
}
export type LateCause = keyof typeof WHILE

interface Late {
  seconds: number
  cause: LateCause
}

const late = ({ seconds, cause }: Late): string => `${formatDuration(seconds)} late: ${WHILE[cause]}`
const missed = ({ cause }: Pick<Late, 'cause'>): string => `Missed while ${WHILE[cause]}`

function minuteOf(atMs: number): string {
  const iso = new Date(atMs).toISOString()
  const seconds = atMs % 60_000 === 0 ? '' : iso.slice(16, 19)
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)}${seconds} UTC`
}

/** What happened at a scheduled time. `runOfMs`: the scheduled time to which the run belongs. */
export const firings = {
  'firing.on_time': () => 'On time',
  'firing.late': late,
  'firing.caught_up': (of: Late) => `Caught up, ${late(of)}`,
  /** `countedUntilMs`: later times were not counted; null: all were counted. */
  'firing.out_of_window': (of: Pick<Late, 'cause'> & { windowSeconds: number; countedUntilMs: number | null }) => {
    const { windowSeconds, countedUntilMs } = of
    const rest = countedUntilMs === null ? '' : `. Runs due after ${minuteOf(countedUntilMs)} were not counted`
    return `${missed(of)}; outside the catch-up window of ${formatDuration(windowSeconds)}${rest}`
  },
  'firing.catch_up_none': (of: Pick<Late, 'cause'>) => `${missed(of)}; catch-up is off`,
  'firing.superseded': (of: Pick<Late, 'cause'>) => `${missed(of)}; only the last missed run is caught up`,
  'firing.paused': () => 'The schedule was paused',
  'firing.gap': () => 'This local time does not exist on that day (clock change), so the run is skipped',
  'firing.max_runs': ({ runs }: { runs: number }) => `It had reached its limit of ${runs} runs`,
  'firing.overlap': ({ runOfMs, isAnotherWaiting }: { runOfMs: number; isAnotherWaiting: boolean }) =>
    `The run of ${minuteOf(runOfMs)} had not ended${isAnotherWaiting ? ', and another run was already waiting' : ''}`,
  'firing.buffered': ({ fired, runOfMs }: { fired: Words; runOfMs: number }) =>
    `${fired}; starts when the run of ${minuteOf(runOfMs)} ends`,
  'firing.cancels': ({ fired, runOfMs }: { fired: Words; runOfMs: number }) =>
    `${fired}; cancels the run of ${minuteOf(runOfMs)} and starts when it ends`,
  'firing.refused': ({ error }: { error: string }) => `No job was created: ${error}`,
  'firing.run_now': () => 'Run manually',
  'firing.backfill': () => 'Backfilled',

  'pause.max_runs': ({ runs }: { runs: number }) => `It has reached its limit of ${runs} runs`,
  'pause.end': () => 'It has no further run times',
  'pause.failures': ({ runs }: { runs: number }) =>
    runs === 1 ? 'Its last run failed' : `Its last ${runs} runs failed`
}
