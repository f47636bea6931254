import { type Figure, round } from '../figure.ts'
import type { Endpoint } from './generate-load.ts'
import type { LoadResult } from './load.ts'

/** A row of the report. `concurrencyTimes` multiplies the requested number of connections. */
export interface ReportRow {
  name: string
  title: string
  endpoint: Endpoint
  concurrencyTimes: number
  /** The rate that the benchmark of the asynchronous Scrapyd promises, in requests/s. null: none. */
  promised: number | null
}

export interface Measured extends LoadResult {
  memoryMb: number | null
  /** What this server lacks for the row. null: nothing known. */
  missing: string | null
}

const row = (title: string, endpoint: Endpoint, promised: number | null, concurrencyTimes = 1): ReportRow => {
  return { name: title.toLowerCase().replaceAll(' ', '_'), title, endpoint, concurrencyTimes, promised }
}

export const REPORT: ReportRow[] = [
  row('Daemon Status', 'daemonstatus', 1_247),
  row('List Projects', 'listprojects', 893),
  row('List Spiders', 'listspiders', 654),
  row('High Concurrency', 'daemonstatus', 1_157, 2),
  row('Mixed Workload', 'mixed', 823)
]

export function rowOf(endpoint: Endpoint): ReportRow {
  return { name: endpoint, title: endpoint, endpoint, concurrencyTimes: 1, promised: null }
}

const isAllErrors = ({ requests, errors }: LoadResult): boolean => errors >= requests

/**
 * Returns the figures of a row. Without a successful response, rates and times are meaningless, so the row has only
 * its errors.
 */
export function figuresOf({ name }: ReportRow, result: Measured, conditions: Figure['conditions']): Figure[] {
  const { requests, seconds, averageMs, p50Ms, p95Ms, p99Ms, memoryMb } = result
  const figure = (what: string, value: number, unit: string): Figure => ({
    figure: `${name}_${what}`,
    value: round(value),
    unit,
    conditions
  })
  const answers = [
    figure('per_s', requests / seconds, 'requests/s'),
    figure('average_ms', averageMs, 'ms'),
    figure('p50_ms', p50Ms, 'ms'),
    figure('p95_ms', p95Ms, 'ms'),
    figure('p99_ms', p99Ms, 'ms')
  ]
  return [
    ...(isAllErrors(result) ? [] : answers),
    figure('errors_percent', percentOf(result), '%'),
    ...(memoryMb === null ? [] : [figure('memory_mb', memoryMb, 'MB')])
  ]
}

function percentOf({ requests, errors }: LoadResult): number {
  return requests === 0 ? 0 : (errors / requests) * 100
}

function ratingOf({ promised }: ReportRow, result: Measured): string {
  if (isAllErrors(result)) return `none: ${result.missing ?? 'no request was answered well'}`
  if (result.errors > 0) return `poor: ${result.missing ?? 'some requests failed'}`
  if (promised === null) return ''
  const share = result.requests / result.seconds / promised
  return share >= 1 ? 'excellent' : share >= 0.5 ? 'good' : share >= 0.2 ? 'fair' : 'poor'
}

export function tableOf(rows: [ReportRow, Measured[]][]): string {
  const isComparison = rows.some(([, measured]) => measured.length > 1)
  const lines = rows.flatMap(([one, measured]) =>
    measured.map((result, index) => {
      const { requests, seconds, averageMs, p50Ms, p95Ms, p99Ms, memoryMb } = result
      const isSilent = isAllErrors(result)
      const numbers = [(requests / seconds).toFixed(0), ...[averageMs, p50Ms, p95Ms, p99Ms].map((ms) => ms.toFixed(1))]
      return [
        `${one.title}${index === 0 ? '' : ' (second)'}`,
        ...(isSilent ? numbers.map(() => '-') : numbers),
        `${percentOf(result).toFixed(1)} %`,
        memoryMb === null ? '?' : String(memoryMb),
        ...(isComparison ? [index === 0 ? '' : timesAsFast(measured[0]!, result)] : []),
        ratingOf(one, result)
      ]
    })
  )
  const names = ['', 'RPS', 'Avg RT (ms)', 'P50 RT (ms)', 'P95 RT (ms)', 'P99 RT (ms)', 'Errors', 'Memory (MB)']
  const table = [[...names, ...(isComparison ? ['Ratio'] : []), 'Rating'], ...lines]
  const widths = table[0]!.map((_cell, column) => Math.max(...table.map((line) => line[column]!.length)))
  return table
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd()
    )
    .join('\n')
}

function timesAsFast(first: Measured, second: Measured): string {
  if (isAllErrors(first) || isAllErrors(second)) return '-'
  return `${(second.requests / second.seconds / (first.requests / first.seconds)).toFixed(1)}×`
}
