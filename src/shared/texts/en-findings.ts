import { formatDuration, formatWait } from '../time.ts'
import { countOf, utcMinute, type Words } from './parts.ts'

const METRICS = { items: 'Items', pages: 'Pages', runtime: 'Runtime', errors: 'Errors' }
type Metric = keyof typeof METRICS

function metricOf(metric: Metric, value: number): string {
  if (metric === 'runtime') return formatDuration(Math.round(value))
  return metric === 'errors' ? String(Math.round(value * 10) / 10) : countOf(Math.round(value))
}

const percentage = (value: number): string => `${Math.round(value)} %`

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
export type Unit = keyof typeof UNITS | 'seconds' | 'percent'

const numberOf = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 1 })

function valueOf(value: number, unit: Unit): string {
  if (unit === 'seconds') return formatWait(value * 1_000)
  return `${numberOf(value)} ${unit === 'percent' ? '%' : UNITS[unit](value)}`
}

interface Range {
  low: number
  high: number
  unit: Unit
}

function rangeOf({ low, high, unit }: Range): string {
  if (low === high) return valueOf(low, unit)
  return `${unit === 'seconds' ? valueOf(low, unit) : numberOf(low)} to ${valueOf(high, unit)}`
}

const runsOf = (count: number, kind: string): string => `${count} ${kind}${count === 1 ? 'run' : 'runs'}`

const FIGURES = {
  queue_length: { what: 'Waiting jobs', worst: 'highest' },
  disk_free: { what: 'Free disk space of the service', worst: 'lowest' }
}

export const findings = {
  'finding.and': ({ one, other }: { one: Words; other: Words }) => `${one}; ${other}`,
  'finding.metric': (of: { metric: Metric; value: number; median: number; low: number; high: number }) => {
    const { metric, value, median } = of
    const [low, high] = [metricOf(metric, of.low), metricOf(metric, of.high)]
    const usually = `usually ${low === high ? low : `${low} to ${high}`}`
    const what = METRICS[metric]
    if (metric === 'errors') return `${what} rose to ${metricOf(metric, value)} per 100 pages, ${usually}`
    const rise = median === 0 ? 'rose' : `rose to ${(value / median).toFixed(1)} times the median`
    const change = value < median ? `fell by ${percentage((1 - value / median) * 100)}` : rise
    return `${what} ${change}: ${metricOf(metric, value)}, ${usually}`
  },
  /** Percentages of items without the field. `others`: how many similar fields are not listed. */
  'finding.field': (of: { field: string; empty: number; usual: number; others: number }) => {
    const others = of.others > 0 ? `, and ${of.others} more fields like it` : ''
    return `${of.field} is empty in ${percentage(of.empty)} of the items (usually ${percentage(of.usual)})${others}`
  },

  'history_title.runs': ({ metric, runs, subject }: { metric: 'items' | 'errors'; runs: number; subject: string }) =>
    `${{ items: 'Items', errors: 'Logged errors' }[metric]} of the last ${runs} runs of ${subject}`,
  'history_title.successes': ({ metric, runs, subject }: { metric: Metric; runs: number; subject: string }) =>
    `${metric === 'runtime' ? 'Runtime' : METRICS[metric]} of the last ${runs} successful runs of ${subject}`,
  'history_title.run_time': ({ runs, subject }: { runs: number; subject: string }) =>
    `Runtime of this run and of the last ${runsOf(runs, 'successful ')} of ${subject}`,
  'history_title.outcomes': ({ runs, subject }: { runs: number; subject: string }) =>
    `Outcomes of the last ${runs} runs of ${subject}`,
  'history_title.day': ({ figure, hours }: { figure: keyof typeof FIGURES; hours: number }) =>
    `${FIGURES[figure].what} in the last ${hours === 1 ? 'hour' : `${hours} hours`}`,
  /**
   * `low`, `high`: the range of the other runs. `isOfAlert`: whether the alert is about this run. Otherwise, it is
   * only the newest run.
   */
  'history.runs': ({
    isOfAlert,
    value,
    others,
    ...range
  }: Range & { isOfAlert: boolean; value: number; others: number }) =>
    `${isOfAlert ? 'This run' : 'The newest run'}: ${valueOf(value, range.unit)}. ${runsOf(others, 'other ')}: ${rangeOf(range)}.`,
  'history.outcomes': ({ failed, runs, inARow }: { failed: number; runs: number; inARow: number }) => {
    const row = failed > 0 && inARow > 0 ? `, the last ${inARow === 1 ? 'one' : `${inARow} in a row`}` : ''
    return `Tall bars are failed runs: ${failed} of ${runs}${row}.`
  },
  'history.day': ({ figure, now, ...range }: Range & { figure: keyof typeof FIGURES; now: number }) =>
    `Latest: ${valueOf(now, range.unit)}. Earlier: ${rangeOf(range)}. Each bar is the ${FIGURES[figure].worst} value in 30 minutes.`,

  'preview.and': ({ one, other }: { one: Words; other: Words }) => `${one}. ${other}`,
  'preview.cut': () => 'Too much data to scan: the oldest is left out',
  'preview.last_runs': () => 'For a job that ran several times, only the last run is known',
  'preview.some_waits': () => 'Jobs that waited for other jobs, or ran several times, are left out',
  'preview.never_succeeded': () => 'It has not succeeded yet',
  'preview.errors_resolved': () => 'It is not considered when errors were resolved',
  'preview.pauses': () => 'Schedule pauses and chain failures are no longer known',
  'preview.not_recorded': () => 'Nothing has been recorded yet',
  'preview.recorded_since': ({ sinceMs }: { sinceMs: number }) => `Recorded since ${utcMinute(sinceMs)}`
}
