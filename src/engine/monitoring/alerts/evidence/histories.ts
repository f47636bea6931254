import type { AlertFigureHistory, JobId, RunMetric } from '../../../../shared/contract/index.ts'
import type { Unit } from '../../../../shared/texts/en-findings.ts'
import { type Message, say, writtenAs } from '../../../../shared/texts/message.ts'
import { metricOf } from '../../expectations/expectations.ts'
import type { PastRun, StoredAlertFact, StoredJob } from '../../../model/records.ts'
import type { RecordedFigure } from './wanted.ts'

// Charts of a watched figure. null: a chart would add nothing. `runs` belong to one spider and are sorted newest
// first.

export const RUNS_SHOWN = 30
const DAY_BARS = 48
const BAR_MS = 1_800_000
const SHOWN_MS = DAY_BARS * BAR_MS

type Run = Pick<StoredJob, 'id' | 'outcome' | 'items' | 'errors' | 'queuedAtMs' | 'endedAtMs'>
interface Point {
  value: number
  atMs: number
  isOfAlert: boolean
}

const rangeOf = (values: readonly number[]) => ({ low: Math.min(...values), high: Math.max(...values) })

/**
 * Highlights the run of the alert. If the alert is over or its run is not among the points, highlights the newest run.
 */
function historyOfPoints(points: readonly Point[], unit: Unit, title: Message): AlertFigureHistory | null {
  if (points.length < 2) return null
  const found = points.findLastIndex(({ isOfAlert }) => isOfAlert)
  const at = found === -1 ? points.length - 1 : found
  const others = points.filter((_, index) => index !== at).map(({ value }) => value)
  const of = { isOfAlert: found !== -1, value: points[at]!.value, others: others.length }
  return {
    ...writtenAs('title', title),
    bars: points.map(({ value }, index) => ({ value, tone: index === at ? 'now' : 'past' })),
    fromMs: points[0]!.atMs,
    untilMs: points.at(-1)!.atMs,
    ...writtenAs('caption', say('history.runs', { ...of, ...rangeOf(others), unit }))
  }
}

interface Of {
  subject: string
  jobId: JobId | null
}

/** Omits lost runs, because their results are unknown. */
export function historyOfRuns(figure: 'items' | 'errors', runs: readonly Run[], { subject, jobId }: Of) {
  const known = runs.filter(({ outcome }) => outcome !== 'lost').filter((run) => run[figure] !== null)
  const points = known
    .slice(0, RUNS_SHOWN)
    .toReversed()
    .map((run) => ({ value: run[figure]!, atMs: run.endedAtMs ?? run.queuedAtMs, isOfAlert: run.id === jobId }))
  return historyOfPoints(points, figure, say('history_title.runs', { metric: figure, runs: points.length, subject }))
}

const UNITS = { items: 'items', pages: 'pages', errors: 'error_rate', runtime: 'seconds' } as const

const pointsOf = (metric: Exclude<RunMetric, 'field'>, runs: readonly PastRun[], jobId: JobId | null): Point[] =>
  runs
    .slice(0, RUNS_SHOWN)
    .toReversed()
    .flatMap((run) => {
      const value = metricOf(run, metric)
      if (value === null || run.endedAtMs === null) return []
      return [{ value, atMs: run.endedAtMs, isOfAlert: run.jobId === jobId }]
    })

/** Shows the first unusual metric of a run beside those of the successful `runs`. */
export function historyOfMetric(metric: RunMetric, runs: readonly PastRun[], { subject, jobId }: Of) {
  // Each field of the items would need its own chart.
  if (metric === 'field') return null
  const points = pointsOf(metric, runs, jobId)
  const title = say('history_title.successes', { metric, runs: points.length, subject })
  return historyOfPoints(points, UNITS[metric], title)
}

/** Shows the run time of `job`, which can still be running, beside the run times of the successful `runs`. */
export function historyOfRunTime(
  job: Pick<StoredJob, 'id' | 'startedAtMs' | 'endedAtMs'>,
  runs: readonly PastRun[],
  { subject, nowMs }: { subject: string; nowMs: number }
) {
  if (job.startedAtMs === null) return null
  const atMs = job.endedAtMs ?? nowMs
  const others = pointsOf('runtime', runs.filter(({ jobId }) => jobId !== job.id).slice(0, RUNS_SHOWN - 1), null)
  const own = { value: Math.max(0, atMs - job.startedAtMs) / 1_000, atMs, isOfAlert: true }
  const title = say('history_title.run_time', { runs: others.length, subject })
  return historyOfPoints([...others, own], 'seconds', title)
}

export function historyOfOutcomes(runs: readonly Run[], subject: string): AlertFigureHistory | null {
  const shown = runs.slice(0, RUNS_SHOWN).toReversed()
  if (shown.length < 2) return null
  const bars = shown.map(({ outcome }): AlertFigureHistory['bars'][number] =>
    outcome === 'succeeded' ? { value: 0, tone: 'succeeded' } : { value: 1, tone: 'failed' }
  )
  const failed = bars.filter(({ tone }) => tone === 'failed').length
  const inARow = bars.length - 1 - bars.findLastIndex(({ tone }) => tone === 'succeeded')
  const [first, last] = [shown[0]!, shown.at(-1)!]
  return {
    ...writtenAs('title', say('history_title.outcomes', { runs: shown.length, subject })),
    bars,
    fromMs: first.endedAtMs ?? first.queuedAtMs,
    untilMs: last.endedAtMs ?? last.queuedAtMs,
    ...writtenAs('caption', say('history.outcomes', { failed, runs: shown.length, inARow }))
  }
}

const FIGURES: Record<RecordedFigure, { unit: Unit; worst: typeof Math.max }> = {
  queue_length: { unit: 'jobs', worst: Math.max },
  disk_free: { unit: 'percent', worst: Math.min }
}

/** The worst value of each half hour of the last day. `recorded` is sorted by time. A value applies until the next. */
export function historyOfDay(
  watch: RecordedFigure,
  recorded: readonly Pick<StoredAlertFact, 'atMs' | 'value'>[],
  { now, nowMs }: { now: number; nowMs: number }
): AlertFigureHistory | null {
  const { unit, worst } = FIGURES[watch]
  const signals = recorded.flatMap(({ atMs, value }) => (value === null || atMs > nowMs ? [] : [{ atMs, value }]))
  const values: number[] = []
  for (let beginMs = nowMs - SHOWN_MS; beginMs < nowMs; beginMs += BAR_MS) {
    const before = signals.findLast(({ atMs }) => atMs <= beginMs)
    const during = signals.filter(({ atMs }) => atMs > beginMs && atMs <= beginMs + BAR_MS)
    const known = [...(before === undefined ? [] : [before]), ...during].map(({ value }) => value)
    if (known.length > 0) values.push(known.reduce((one, other) => worst(one, other)))
  }
  // The last recorded value can be outdated, so the current value replaces it.
  values.splice(-1, 1, now)
  if (values.length < 2) return null
  const hours = (values.length * BAR_MS) / 3_600_000
  return {
    ...writtenAs('title', say('history_title.day', { figure: watch, hours })),
    bars: values.map((value, at) => ({ value, tone: at === values.length - 1 ? 'now' : 'past' })),
    fromMs: nowMs - values.length * BAR_MS,
    untilMs: nowMs,
    ...writtenAs('caption', say('history.day', { figure: watch, now, ...rangeOf(values.slice(0, -1)), unit }))
  }
}
