import { describeTiming } from '../../../shared/calendar/index.ts'
import type { Firing, OverlapPolicy, RunTemplate, Schedule, ScheduleTiming } from '../../../shared/contract/index.ts'
import { formatDuration } from '../../../shared/time.ts'
import { texts } from '../../../shared/texts/ui/schedules.ts'
import { texts as calendar } from '../../../shared/texts/ui/calendar.ts'

export const OVERLAP_WORDS: Record<OverlapPolicy, { word: string; text: string }> = {
  skip: { word: texts.skip, text: texts.skipHint },
  queue_one: { word: texts.wait, text: texts.waitHint },
  queue_all: {
    word: texts.queueAll,
    text: texts.queueAllHint
  },
  cancel_running: { word: texts.cancelPrevious, text: texts.cancelPreviousHint },
  allow: { word: texts.runBoth, text: texts.runBothHint }
}

export const CATCH_UP_WORDS: Record<Schedule['catchUp'], { word: string; text: string }> = {
  none: { word: texts.skip, text: texts.catchUpSkipHint },
  last: {
    word: texts.runTheLast,
    text: texts.runTheLastHint
  },
  all: { word: texts.runAll, text: texts.runAllHint }
}

const PAUSED_BY: Record<NonNullable<Schedule['pausedBy']>, string> = {
  operator: texts.pausedByUser,
  failures: texts.pausedByFailures,
  max_runs: texts.endedByMaximumRuns,
  end: texts.endedByDate,
  invalid: texts.pausedAsInvalid
}

export const pausedWords = ({ pausedBy }: Schedule): string => PAUSED_BY[pausedBy ?? 'operator']

/** For tables: `0 3 * * 1-5`, `every 1 h 30 min`, `once`. `+2` is added if there are two more rules. */
export function timingShort({ rules }: Pick<ScheduleTiming, 'rules'>): string {
  const [first] = rules
  if (first === undefined) return texts.never
  const word =
    first.kind === 'cron'
      ? first.expression
      : first.kind === 'interval'
        ? texts.everyInterval(formatDuration(first.everySeconds))
        : texts.onceWord
  return rules.length > 1 ? `${word}  +${rules.length - 1}` : word
}

/** A timing in words, or its expression if it is invalid, because an invalid timing must not break the screen. */
export function timingWords(timing: ScheduleTiming): string {
  try {
    return describeTiming(timing, calendar)
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
  return projects.length === 1
    ? texts.spidersOfProject(spiders.size, projects[0]!)
    : texts.spidersOfProjects(spiders.size, projects.length)
}

export function missedLately({ recent }: { recent: readonly Firing[] }): number {
  const lastRun = recent.findIndex(({ state }) => state === 'fired')
  const since = lastRun < 0 ? recent : recent.slice(0, lastRun)
  return since.reduce((sum, { state, count }) => sum + (state === 'missed' ? count : 0), 0)
}

/** The time from which to catch up, before the oldest missed run. null: no run is missed. */
export function missedSinceMs({ recent, createdAtMs }: Pick<Schedule, 'recent' | 'createdAtMs'>): number | null {
  const lastRun = recent.findIndex(({ state }) => state === 'fired')
  const index = recent.slice(0, lastRun < 0 ? recent.length : lastRun).findLastIndex(({ state }) => state === 'missed')
  if (index === -1) return null
  const oldest = recent[index]!
  // A row can represent several runs and has the time of the newest. Catching up does not repeat runs that took place.
  const before = oldest.count > 1 ? (recent[index + 1]?.nominalMs ?? createdAtMs) : Infinity
  return Math.min(before, oldest.nominalMs - 60_000)
}

export function lastFailed({ recent }: { recent: readonly Firing[] }): boolean {
  const last = recent.find(({ state, outcome }) => state === 'failed' || (outcome !== null && outcome !== 'live'))
  return last !== undefined && (last.state === 'failed' || last.outcome === 'failed' || last.outcome === 'lost')
}
