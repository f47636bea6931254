import { describeTiming } from '../../../shared/calendar/index.ts'
import type { Firing, OverlapPolicy, RunTemplate, Schedule, ScheduleTiming } from '../../../shared/contract/index.ts'
import { formatDuration } from '../../../shared/time.ts'
import { plural } from '../../ui/numbers.ts'
import { texts } from '../../../shared/texts/ui/schedules.ts'

export const OVERLAP_WORDS: Record<OverlapPolicy, { word: string; text: string }> = {
  skip: { word: 'skip', text: texts.theNewRunIsSkippedAnd },
  queue_one: { word: 'wait', text: texts.oneRunWaitsUntilThePrevious },
  queue_all: {
    word: texts.queueAll,
    text: texts.everyRunWaitsForThePrevious
  },
  cancel_running: { word: texts.cancelPrevious, text: texts.thePreviousRunIsCancelledThen },
  allow: { word: texts.runBoth, text: texts.bothRunsAreLiveAtThe }
}

export const CATCH_UP_WORDS: Record<Schedule['catchUp'], { word: string; text: string }> = {
  none: { word: 'skip', text: texts.missedRunsAreOnlyRecordedIn },
  last: {
    word: texts.runTheLast,
    text: texts.onlyTheLatestMissedRunIs
  },
  all: { word: texts.runAll, text: texts.allMissedRunsAreMadeUp }
}

const PAUSED_BY: Record<NonNullable<Schedule['pausedBy']>, string> = {
  operator: texts.paused2,
  failures: texts.pausedTooManyFailuresInA,
  max_runs: texts.endedMaximumRunsReached,
  end: texts.endedTheEndDateHasPassed,
  invalid: texts.pausedTheScheduleIsInvalid
}

export const pausedWords = ({ pausedBy }: Schedule): string => PAUSED_BY[pausedBy ?? 'operator']

/** The shortest form, for tables: `0 3 * * 1-5`, `every 1 h 30 min`, `once`; `+2` for further rules. */
export function timingShort({ rules }: Pick<ScheduleTiming, 'rules'>): string {
  const [first] = rules
  if (first === undefined) return 'never'
  const word =
    first.kind === 'cron'
      ? first.expression
      : first.kind === 'interval'
        ? texts.every2(formatDuration(first.everySeconds))
        : 'once'
  return rules.length > 1 ? `${word}  +${rules.length - 1}` : word
}

/** A timing in words, or its expression if it has none, so that an invalid one never breaks the screen. */
export function timingWords(timing: ScheduleTiming): string {
  try {
    return describeTiming(timing)
  } catch {
    return timingShort(timing)
  }
}

/** How many jobs one firing creates from a template. */
export function jobsOfTemplate({
  spiders,
  argSets,
  matrix
}: Pick<RunTemplate, 'spiders' | 'argSets' | 'matrix'>): number {
  const combinations = Object.values(matrix).reduce((product, values) => product * Math.max(1, values.length), 1)
  return spiders.length * Math.max(1, argSets.length) * combinations
}

export const jobsOf = (jobs: readonly RunTemplate[]): number =>
  jobs.reduce((sum, template) => sum + jobsOfTemplate(template), 0)

/** `prices/amazon_de`, `3 spiders of prices`, `5 spiders of 2 projects`. */
export function whatWords(jobs: readonly RunTemplate[]): string {
  const projects = [...new Set(jobs.map(({ project }) => project))]
  const spiders = new Set(jobs.flatMap(({ project, spiders: names }) => names.map((name) => `${project}/${name}`)))
  const [only] = spiders
  if (spiders.size === 1 && only !== undefined) return only
  return `${plural(spiders.size, 'spider')} of ${projects.length === 1 ? projects[0] : plural(projects.length, 'project')}`
}

/** Runs missed since it last ran, which must be visible at once. */
export function missedLately({ recent }: { recent: readonly Firing[] }): number {
  const lastRun = recent.findIndex(({ state }) => state === 'fired')
  const since = lastRun < 0 ? recent : recent.slice(0, lastRun)
  return since.reduce((sum, { state, count }) => sum + (state === 'missed' ? count : 0), 0)
}

/** The time from which to catch up, before the oldest missed run; null: none were missed. */
export function missedSinceMs({ recent, createdAtMs }: Pick<Schedule, 'recent' | 'createdAtMs'>): number | null {
  const lastRun = recent.findIndex(({ state }) => state === 'fired')
  const index = recent.slice(0, lastRun < 0 ? recent.length : lastRun).findLastIndex(({ state }) => state === 'missed')
  if (index === -1) return null
  const oldest = recent[index]!
  // A row may stand for several runs and has the time of the newest. Runs that happened are not repeated.
  const before = oldest.count > 1 ? (recent[index + 1]?.nominalMs ?? createdAtMs) : Infinity
  return Math.min(before, oldest.nominalMs - 60_000)
}

/** Whether something went wrong when it last ran. */
export function lastFailed({ recent }: { recent: readonly Firing[] }): boolean {
  const last = recent.find(({ state, outcome }) => state === 'failed' || (outcome !== null && outcome !== 'live'))
  return last !== undefined && (last.state === 'failed' || last.outcome === 'failed' || last.outcome === 'lost')
}
