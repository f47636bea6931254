import type { Finding, RunMetric, UsualRange } from '../../../shared/contract/index.ts'
import { type Message, messageOf, say, written } from '../../../shared/texts/message.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import type { PastRun } from '../../model/records.ts'

export type JudgedRun = Omit<PastRun, 'jobId'>

interface Expected {
  values: readonly number[]
  median: number
  /** Median absolute deviation. Unlike a standard deviation, it barely reacts to single odd runs. */
  deviation: number
  usual: UsualRange
}

export interface Expectations {
  neededRuns: number
  comparedRuns: number
  weekday: number | null
  of: Partial<Record<CountedMetric, Expected>>
  fields: ExpectedFields
}

/** The percentage of items that have each field. Based only on runs whose fields were counted. */
export interface ExpectedFields {
  neededRuns: number
  comparedRuns: number
  of: ReadonlyMap<string, Expected>
}

type CountedMetric = Exclude<RunMetric, 'field'>

export const HISTORY_RUNS = 30
const RUNS_MIN = 5
/** The minimum number of runs on a weekday to judge by. 30 daily runs include at least four of each weekday. */
const WEEKDAY_RUNS_MIN = 4
const DEVIATION_SCALE = 1.4826
const Z_MIN = 3.5
/** The smallest spread, as a share of the median. Identical runs would otherwise have a spread of 0. */
const SPREAD_MIN_SHARE = 0.05
/** A value that more than one in five earlier runs reached is usual, however far it is from the median. */
const USUAL_SHARE = 0.2

interface Rule {
  /**
   * The smallest fall and rise to report, as a share of the median. null: a change in this direction is not reported.
   */
  fall: number | null
  rise: number | null
  leastChange: number
}

/** More items, fewer errors or a shorter run than usual are not reported. */
const RULES: Record<CountedMetric, Rule> = {
  items: { fall: 0.4, rise: null, leastChange: 20 },
  pages: { fall: 0.4, rise: 2, leastChange: 20 },
  runtime: { fall: null, rise: 1, leastChange: 300 },
  errors: { fall: null, rise: 1, leastChange: 1 }
}
const METRICS = Object.keys(RULES) as CountedMetric[]
/** Fewer errors than this are never reported, regardless of their share. */
const ERRORS_MIN = 10
const FIELD_RULE: Rule = { fall: 0.2, rise: null, leastChange: 20 }
/** The minimum number of items for which shares of fields are judged. With fewer items, a share means little. */
const FIELD_ITEMS_MIN = 20
const FIELDS_REPORTED = 5
const FIELD_NAME_CHARACTERS = 60

/** Returns the metric of a run as a number of items or pages, in seconds, or in errors per 100 pages. null: unknown. */
export function metricOf(run: JudgedRun, metric: CountedMetric): number | null {
  const { pages, errors, startedAtMs, endedAtMs } = run
  if (metric === 'items' || metric === 'pages') return run[metric]
  if (metric === 'errors') return errors === null || pages === null ? null : (errors * 100) / Math.max(1, pages)
  return startedAtMs === null || endedAtMs === null ? null : Math.max(0, endedAtMs - startedAtMs) / 1000
}

/** 0 is Sunday. UTC is enough, because only the weekly rhythm matters. */
export const weekdayOf = ({ startedAtMs }: Pick<JudgedRun, 'startedAtMs'>): number | null =>
  startedAtMs === null ? null : new Date(startedAtMs).getUTCDay()

/** What to expect of a run that starts on this weekday, given the earlier runs of its spider. */
export function expectationsOf(history: readonly JudgedRun[], weekday: number | null): Expectations {
  const { compared, neededRuns, isByWeekday } = runsToCompare(history, weekday)
  const runsMin = isByWeekday ? WEEKDAY_RUNS_MIN : RUNS_MIN
  const of: Expectations['of'] = {}
  for (const metric of METRICS) {
    const values = compared.map((run) => metricOf(run, metric)).filter((value) => value !== null)
    if (neededRuns === 0 && values.length >= runsMin) of[metric] = describeValues(values)
  }
  const fields = expectedFieldsOf(history, weekday)
  return { neededRuns, comparedRuns: compared.length, weekday: isByWeekday ? weekday : null, of, fields }
}

function runsToCompare<Run extends JudgedRun>(history: readonly Run[], weekday: number | null) {
  const neededRuns = Math.max(0, RUNS_MIN - history.length)
  const ofWeekday = history.filter((run) => weekdayOf(run) === weekday)
  // If every run is on the same weekday, there is no other weekday to compare it with.
  const hasRhythm = ofWeekday.length >= WEEKDAY_RUNS_MIN && ofWeekday.length < history.length
  const isByWeekday = neededRuns === 0 && weekday !== null && hasRhythm
  return { compared: isByWeekday ? ofWeekday : history, neededRuns, isByWeekday }
}

/** Can be based on fewer runs than the other expectations, because only items whose files are kept can be counted. */
function expectedFieldsOf(history: readonly JudgedRun[], weekday: number | null): ExpectedFields {
  const { compared, neededRuns, isByWeekday } = runsToCompare(history.filter(isCounted), weekday)
  const comparedRuns = compared.length
  const of = new Map<string, Expected>()
  if (neededRuns > 0) return { neededRuns, comparedRuns, of }
  const shares = compared.map((run) => sharesOf(run)!)
  const names = new Set(shares.flatMap(({ of: ofRun }) => [...ofRun.keys()]))
  for (const name of names) {
    const values = shares.flatMap((one) => one.of.get(name) ?? one.others ?? [])
    if (values.length >= (isByWeekday ? WEEKDAY_RUNS_MIN : RUNS_MIN)) of.set(name, describeValues(values))
  }
  return { neededRuns, comparedRuns, of }
}

const isCounted = ({ filledFields }: JudgedRun): boolean => (filledFields?.items ?? 0) >= FIELD_ITEMS_MIN

/**
 * The percentage of items that have each field. null: too few items. `others`: the percentage for all other fields.
 * null: unknown.
 */
export function sharesOf(run: JudgedRun): { of: ReadonlyMap<string, number>; others: 0 | null } | null {
  if (run.filledFields === null || !isCounted(run)) return null
  const { items, fields, hasMoreFields } = run.filledFields
  const of = new Map(fields.map(([name, filled]) => [name, (filled * 100) / items]))
  return { of, others: hasMoreFields ? null : 0 }
}

/** Returns what is unusual about a run, most significant first, or nothing while there are too few earlier runs. */
export function judgeRun(run: JudgedRun, expectations: Expectations): Finding[] {
  const ofMetrics = METRICS.flatMap((metric): Finding[] => {
    const expected = expectations.of[metric]
    const value = metricOf(run, metric)
    if (expected === undefined || value === null || !isUnusual(value, expected, RULES[metric])) return []
    if (metric === 'errors' && run.errors! < ERRORS_MIN) return []
    const { median, usual } = expected
    return [{ metric, field: null, ...said(say('finding.metric', { metric, value, median, ...usual })), value, usual }]
  })
  return [...ofMetrics, ...judgeFields(run, expectations.fields)]
}

function judgeFields(run: JudgedRun, { of }: ExpectedFields): Finding[] {
  const shares = sharesOf(run)
  if (shares === null) return []
  const unusual = [...of].flatMap(([name, expected]) => {
    const value = shares.of.get(name) ?? shares.others
    return value !== null && isUnusual(value, expected, FIELD_RULE) ? [{ name, value, expected }] : []
  })
  unusual.sort((one, other) => other.expected.median - other.value - (one.expected.median - one.value))
  return unusual.slice(0, FIELDS_REPORTED).map(({ name, value, expected }, at) => {
    const more = unusual.length - FIELDS_REPORTED
    const others = at === FIELDS_REPORTED - 1 ? Math.max(0, more) : 0
    const of = { field: shownName(name), empty: 100 - value, usual: 100 - expected.median, others }
    return { metric: 'field', field: name, ...said(say('finding.field', of)), value, usual: expected.usual }
  })
}

function said(message: Message): Pick<Finding, 'words' | 'code' | 'params'> {
  const { text: words, code, params } = written(message)
  return { words, code, params }
}

export const wordsOf = (findings: readonly Finding[]): Message =>
  findings
    .map(({ words, code, params }) => messageOf({ text: words, code, params }))
    .reduce((one, other) => say('finding.and', { one, other }))

function shownName(name: string): string {
  const isCut = name.length > FIELD_NAME_CHARACTERS
  return showUnseen(isCut ? `${name.slice(0, FIELD_NAME_CHARACTERS)}…` : name) || '""'
}

function isUnusual(value: number, { values, median, deviation }: Expected, { fall, rise, leastChange }: Rule): boolean {
  const isFall = value < median
  const share = isFall ? fall : rise
  const change = Math.abs(value - median)
  if (share === null || change < leastChange || change < share * median) return false
  const spread = Math.max(deviation * DEVIATION_SCALE, median * SPREAD_MIN_SHARE)
  if (change < Z_MIN * spread) return false
  const asExtreme = values.filter((other) => (isFall ? other <= value : other >= value)).length
  // A single earlier value that is as extreme does not make a value usual, even if there are few runs.
  return asExtreme <= Math.max(1, Math.floor(values.length * USUAL_SHARE))
}

function describeValues(given: readonly number[]): Expected {
  const values = given.toSorted((one, other) => one - other)
  const median = quantile(values, 0.5)
  const deviations = values.map((value) => Math.abs(value - median)).toSorted((one, other) => one - other)
  const usual = { low: quantile(values, 0.25), high: quantile(values, 0.75) }
  return { values, median, deviation: quantile(deviations, 0.5), usual }
}

/** Interpolates between two values. `sorted` is not empty. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share
  const below = sorted[Math.floor(place)]!
  return below + (sorted[Math.ceil(place)]! - below) * (place % 1)
}
