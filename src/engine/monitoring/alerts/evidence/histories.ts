import type { AlertFigureHistory, JobId, RunMetric } from '../../../../shared/contract/index.ts'
import { formatWait } from '../../../../shared/time.ts'
import { metricOf } from '../../expectations/expectations.ts'
import type { PastRun, StoredAlertFact, StoredJob } from '../../../model/records.ts'
import type { RecordedFigure } from './wanted.ts'

// Charts of a watched figure; null: a chart would say nothing. All pure. `runs`: of one spider, newest first.

export const RUNS_SHOWN = 30
/** For the last day, one per half hour. */
const DAY_BARS = 48
const BAR_MS = 1_800_000
const SHOWN_MS = DAY_BARS * BAR_MS

type Run = Pick<StoredJob, 'id' | 'outcome' | 'items' | 'errors' | 'queuedAtMs' | 'endedAtMs'>
interface Point {
  value: number
  atMs: number
  isOfAlert: boolean
}

const plural =
  (one: string, many = `${one}s`) =>
  (value: number): string =>
    value === 1 ? one : many
const UNITS = {
  items: plural('item'),
  pages: plural('page'),
  errors: plural('error'),
  error_rate: plural('error per 100 pages', 'errors per 100 pages'),
  jobs: plural('job')
}
/** `1,204 items`, `9.8 %`, `1 h 12 min` */
type Unit = keyof typeof UNITS | 'seconds' | 'percent'

const numberWords = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 1 })

function valueWords(value: number, unit: Unit): string {
  if (unit === 'seconds') return formatWait(value * 1_000)
  return `${numberWords(value)} ${unit === 'percent' ? '%' : UNITS[unit](value)}`
}

function rangeWords(values: readonly number[], unit: Unit): string {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  if (low === high) return valueWords(low, unit)
  return `${unit === 'seconds' ? valueWords(low, unit) : numberWords(low)} to ${valueWords(high, unit)}`
}

const runsWords = (count: number, words: string): string => `${count} ${words}${count === 1 ? 'run' : 'runs'}`

/** Highlights the run of the alert or, if it is not among them or the alert is over, the newest one. */
function historyOfPoints(points: readonly Point[], unit: Unit, title: string): AlertFigureHistory | null {
  if (points.length < 2) return null
  const found = points.findLastIndex(({ isOfAlert }) => isOfAlert)
  const at = found === -1 ? points.length - 1 : found
  const others = points.filter((_, index) => index !== at).map(({ value }) => value)
  const name = found === -1 ? 'The newest run' : 'This run'
  return {
    title,
    bars: points.map(({ value }, index) => ({ value, tone: index === at ? 'now' : 'past' })),
    fromMs: points[0]!.atMs,
    untilMs: points.at(-1)!.atMs,
    caption: `${name}: ${valueWords(points[at]!.value, unit)}. ${runsWords(others.length, 'other ')}: ${rangeWords(others, unit)}.`
  }
}

/** `jobId`: of the alert; null: the alert is over. */
interface Of {
  subject: string
  jobId: JobId | null
}

/** Skips lost runs: what they did is unknown. */
export function historyOfRuns(figure: 'items' | 'errors', runs: readonly Run[], { subject, jobId }: Of) {
  const known = runs.filter(({ outcome }) => outcome !== 'lost').filter((run) => run[figure] !== null)
  const points = known
    .slice(0, RUNS_SHOWN)
    .toReversed()
    .map((run) => ({ value: run[figure]!, atMs: run.endedAtMs ?? run.queuedAtMs, isOfAlert: run.id === jobId }))
  const what = { items: 'Items', errors: 'Logged errors' }[figure]
  return historyOfPoints(points, figure, `${what} of the last ${points.length} runs of ${subject}`)
}

const METRICS: Record<Exclude<RunMetric, 'field'>, { unit: Unit; what: string }> = {
  items: { unit: 'items', what: 'Items' },
  pages: { unit: 'pages', what: 'Pages' },
  errors: { unit: 'error_rate', what: 'Errors' },
  runtime: { unit: 'seconds', what: 'Run time' }
}

const pointsOf = (metric: Exclude<RunMetric, 'field'>, runs: readonly PastRun[], jobId: JobId | null): Point[] =>
  runs
    .slice(0, RUNS_SHOWN)
    .toReversed()
    .flatMap((run) => {
      const value = metricOf(run, metric)
      if (value === null || run.endedAtMs === null) return []
      return [{ value, atMs: run.endedAtMs, isOfAlert: run.jobId === jobId }]
    })

/** The first unusual metric of a run; `runs`: successful ones. */
export function historyOfMetric(metric: RunMetric, runs: readonly PastRun[], { subject, jobId }: Of) {
  // Each field of the items would need its own chart.
  if (metric === 'field') return null
  const { unit, what } = METRICS[metric]
  const points = pointsOf(metric, runs, jobId)
  return historyOfPoints(points, unit, `${what} of the last ${points.length} successful runs of ${subject}`)
}

/** `job`: runs or ran long; `runs`: successful ones. */
export function historyOfRunTime(
  job: Pick<StoredJob, 'id' | 'startedAtMs' | 'endedAtMs'>,
  runs: readonly PastRun[],
  { subject, nowMs }: { subject: string; nowMs: number }
) {
  if (job.startedAtMs === null) return null
  const atMs = job.endedAtMs ?? nowMs
  const others = pointsOf('runtime', runs.filter(({ jobId }) => jobId !== job.id).slice(0, RUNS_SHOWN - 1), null)
  const own = { value: Math.max(0, atMs - job.startedAtMs) / 1_000, atMs, isOfAlert: true }
  const title = `Run time of this run and of the last ${runsWords(others.length, 'successful ')} of ${subject}`
  return historyOfPoints([...others, own], 'seconds', title)
}

/** Failed runs are tall, the others a line. */
export function historyOfOutcomes(runs: readonly Run[], subject: string): AlertFigureHistory | null {
  const shown = runs.slice(0, RUNS_SHOWN).toReversed()
  if (shown.length < 2) return null
  const bars = shown.map(({ outcome }): AlertFigureHistory['bars'][number] =>
    outcome === 'succeeded' ? { value: 0, tone: 'succeeded' } : { value: 1, tone: 'failed' }
  )
  const failed = bars.filter(({ tone }) => tone === 'failed').length
  const inARow = bars.length - 1 - bars.findLastIndex(({ tone }) => tone === 'succeeded')
  const row = failed > 0 && inARow > 0 ? `, the last ${inARow === 1 ? 'one' : `${inARow} in a row`}` : ''
  const [first, last] = [shown[0]!, shown.at(-1)!]
  return {
    title: `Outcomes of the last ${shown.length} runs of ${subject}`,
    bars,
    fromMs: first.endedAtMs ?? first.queuedAtMs,
    untilMs: last.endedAtMs ?? last.queuedAtMs,
    caption: `Tall bars are failed runs: ${failed} of ${shown.length}${row}.`
  }
}

const FIGURES: Record<RecordedFigure, { unit: Unit; what: string; worst: typeof Math.max; worstWord: string }> = {
  queue_length: { unit: 'jobs', what: 'Waiting jobs', worst: Math.max, worstWord: 'highest' },
  disk_free: { unit: 'percent', what: 'Free disk space of the service', worst: Math.min, worstWord: 'lowest' }
}

/** The worst value of each half hour of the last day. `recorded`: oldest first; each holds until the next. */
export function historyOfDay(
  watch: RecordedFigure,
  recorded: readonly Pick<StoredAlertFact, 'atMs' | 'value'>[],
  { now, nowMs }: { now: number; nowMs: number }
): AlertFigureHistory | null {
  const { unit, what, worst, worstWord } = FIGURES[watch]
  const signals = recorded.flatMap(({ atMs, value }) => (value === null || atMs > nowMs ? [] : [{ atMs, value }]))
  const values: number[] = []
  for (let beginMs = nowMs - SHOWN_MS; beginMs < nowMs; beginMs += BAR_MS) {
    const before = signals.findLast(({ atMs }) => atMs <= beginMs)
    const during = signals.filter(({ atMs }) => atMs > beginMs && atMs <= beginMs + BAR_MS)
    const known = [...(before === undefined ? [] : [before]), ...during].map(({ value }) => value)
    // Before the first one, the value is unknown.
    if (known.length > 0) values.push(known.reduce((one, other) => worst(one, other)))
  }
  // The last recorded value may be outdated.
  values.splice(-1, 1, now)
  if (values.length < 2) return null
  const hours = (values.length * BAR_MS) / 3_600_000
  return {
    title: `${what} in the last ${hours === 1 ? 'hour' : `${hours} hours`}`,
    bars: values.map((value, at) => ({ value, tone: at === values.length - 1 ? 'now' : 'past' })),
    fromMs: nowMs - values.length * BAR_MS,
    untilMs: nowMs,
    caption: `At the end: ${valueWords(now, unit)}. Before: ${rangeWords(values.slice(0, -1), unit)}. Each bar is the ${worstWord} value of 30 minutes.`
  }
}
