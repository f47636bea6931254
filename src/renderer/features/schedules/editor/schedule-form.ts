import { isZone, problemOfCron, problemOfText, problemOfTiming } from '../../../../shared/calendar/index.ts'
import {
  type OverlapPolicy,
  RunTemplate,
  SECRET_MASK,
  type Schedule,
  type ScheduleRule,
  ScheduleSettings,
  type ScheduleTiming
} from '../../../../shared/contract/index.ts'
import { formatDuration } from '../../../../shared/time.ts'
import { type LimitTexts, limitTexts, parseLimit, readLimits } from '../../../ui/fields/limits.ts'
import { readRetry, retryTexts, type RetryTexts } from '../../../ui/fields/retry.ts'
import { parseTagExpression } from '../../../ui/fields/tag-expression.ts'
import { type FormRow, lacksSecret, problemOfRow, rowsOf, valuesOf } from '../../../ui/fields/value-rows.ts'
import { fromLocalInput, localZone, toLocalInput } from '../zoned-time.ts'

/** A rule while somebody types; times of day are those of the schedule's zone. */
export interface RuleForm {
  readonly key: number
  readonly kind: ScheduleRule['kind']
  readonly expression: string
  /** `1 h 30 min` */
  readonly every: string
  readonly anchor: string
  readonly at: string
}

export interface TemplateForm {
  readonly key: number
  readonly project: string | null
  readonly version: string | null
  readonly spiders: readonly string[]
  readonly args: readonly FormRow[]
  readonly settings: readonly FormRow[]
  /** A line for each job: `page=1 sort=asc`. */
  readonly argSets: string
  /** A row for each name; its values with commas between. */
  readonly matrix: readonly FormRow[]
  readonly where: 'any' | 'tags' | 'node'
  readonly nodeId: string | null
  readonly tags: string
  readonly priority: number
  readonly limits: LimitTexts
  readonly retry: RetryTexts
}

export interface ScheduleForm {
  readonly name: string
  readonly zone: string
  readonly rules: readonly RuleForm[]
  readonly jobs: readonly TemplateForm[]
  readonly excludedDates: readonly string[]
  readonly excludedCrons: string
  readonly gap: ScheduleTiming['gap']
  readonly doubled: ScheduleTiming['doubled']
  readonly start: string
  readonly end: string
  readonly overlap: OverlapPolicy
  readonly catchUp: Schedule['catchUp']
  readonly catchUpWindow: string
  readonly jitter: string
  readonly maxRuns: string
  readonly pauseAfterFailures: string
}

/** A placeholder where a value is missing or wrong, with the words for people. */
export type Read<Value> = Value | { problem: string }

let nextKey = 1
const HOUR_MS = 3_600_000

export const newRuleForm = (zone: string, nowMs: number, over: Partial<RuleForm> = {}): RuleForm => ({
  key: nextKey++,
  kind: 'cron',
  expression: '0 3 * * *',
  every: '30 min',
  anchor: toLocalInput(Math.floor(nowMs / HOUR_MS) * HOUR_MS, zone),
  at: toLocalInput(Math.ceil(nowMs / HOUR_MS + 1) * HOUR_MS, zone),
  ...over
})

export const newTemplateForm = (over: Partial<RunTemplate> = {}): TemplateForm => ({
  key: nextKey++,
  project: over.project ?? null,
  version: over.version ?? null,
  spiders: over.spiders ?? [],
  args: rowsOf(over.args, over.secretNames),
  settings: rowsOf(over.settings, over.secretNames),
  argSets: (over.argSets ?? []).map(writeArgSet).join('\n'),
  matrix: rowsOf(
    Object.fromEntries(Object.entries(over.matrix ?? {}).map(([name, values]) => [name, values.join(', ')]))
  ),
  where: over.nodeId ? 'node' : over.tags?.length ? 'tags' : 'any',
  nodeId: over.nodeId ?? null,
  tags: (over.tags ?? []).join(' '),
  priority: over.priority ?? 0,
  limits: limitTexts(over.limits),
  retry: retryTexts(over.retry)
})

/** A new schedule: every night, where people are. */
export function emptyForm(nowMs: number, template: Partial<RunTemplate> = {}): ScheduleForm {
  const zone = localZone()
  return {
    name: '',
    zone,
    rules: [newRuleForm(zone, nowMs)],
    jobs: [newTemplateForm(template)],
    excludedDates: [],
    excludedCrons: '',
    gap: 'run_at_shift',
    doubled: 'run_once',
    start: '',
    end: '',
    overlap: 'skip',
    catchUp: 'last',
    catchUpWindow: '1 h',
    jitter: '',
    maxRuns: '',
    pauseAfterFailures: ''
  }
}

export function formOf(settings: ScheduleSettings, nowMs: number): ScheduleForm {
  const { zone } = settings
  const local = (atMs: number | null) => (atMs === null ? '' : toLocalInput(atMs, zone))
  return {
    name: settings.name,
    zone,
    rules: settings.rules.map((rule) => newRuleForm(zone, nowMs, rulePatch(rule, zone))),
    jobs: settings.jobs.map((template) => keepSecrets(newTemplateForm(template))),
    excludedDates: settings.excludedDates,
    excludedCrons: settings.excludedCrons.join('\n'),
    gap: settings.gap,
    doubled: settings.doubled,
    start: local(settings.startMs),
    end: local(settings.endMs),
    overlap: settings.overlap,
    catchUp: settings.catchUp,
    catchUpWindow: formatDuration(settings.catchUpWindowSeconds),
    jitter: settings.jitterSeconds === 0 ? '' : formatDuration(settings.jitterSeconds),
    maxRuns: settings.maxRuns === null ? '' : String(settings.maxRuns),
    pauseAfterFailures: settings.pauseAfterFailures === null ? '' : String(settings.pauseAfterFailures)
  }
}

/** The fields of a rule that was moved: what is not of its kind stays as it was typed. */
export const rulePatch = (rule: ScheduleRule, zone: string): Partial<RuleForm> => ({
  kind: rule.kind,
  ...(rule.kind === 'cron' && { expression: rule.expression }),
  ...(rule.kind === 'interval' && {
    every: formatDuration(rule.everySeconds),
    anchor: toLocalInput(rule.anchorMs, zone)
  }),
  ...(rule.kind === 'once' && { at: toLocalInput(rule.atMs, zone) })
})

/** The engine takes the mask for the value of before: what is not touched need not be entered again. */
function keepSecrets(form: TemplateForm): TemplateForm {
  const keep = (rows: readonly FormRow[]) => rows.map((row) => (row.isSecret ? { ...row, value: SECRET_MASK } : row))
  return { ...form, args: keep(form.args), settings: keep(form.settings) }
}

/** A new one like another: its secrets are to be entered again, as the engine knows them for that one alone. */
export function copyOf(settings: ScheduleSettings, nowMs: number): ScheduleForm {
  const form = formOf(settings, nowMs)
  return { ...form, name: `${form.name} copy`, jobs: settings.jobs.map(newTemplateForm) }
}

/** What decides when it fires, or the first thing that is wrong with it. */
export function readTiming(form: ScheduleForm): Read<ScheduleTiming> {
  if (!isZone(form.zone)) return { problem: 'Choose a time zone' }
  const rules: ScheduleRule[] = []
  for (const [index, each] of form.rules.entries()) {
    const read = readRule(each, form.zone)
    if ('problem' in read)
      return { problem: form.rules.length > 1 ? `Rule ${index + 1}: ${read.problem}` : read.problem }
    rules.push(read)
  }
  const startMs = form.start === '' ? null : fromLocalInput(form.start, form.zone)
  const endMs = form.end === '' ? null : fromLocalInput(form.end, form.zone)
  const timing: ScheduleTiming = {
    zone: form.zone,
    rules,
    excludedDates: [...form.excludedDates],
    excludedCrons: linesOf(form.excludedCrons),
    gap: form.gap,
    doubled: form.doubled,
    startMs,
    endMs
  }
  const problem = problemOfTiming(timing)
  return problem === null ? timing : { problem }
}

export function readRule(rule: RuleForm, zone: string): Read<ScheduleRule> {
  if (rule.kind === 'cron') {
    const problem = problemOfCron(rule.expression)
    return problem === null ? { kind: 'cron', expression: rule.expression.trim() } : { problem }
  }
  if (rule.kind === 'once') {
    const atMs = fromLocalInput(rule.at, zone)
    return atMs === null ? { problem: 'Say when: a day and a time' } : { kind: 'once', atMs }
  }
  const every = readSpan(rule.every, 31_622_400)
  if (typeof every !== 'number' || every === 0)
    return { problem: typeof every === 'number' ? 'Say how often, such as 30 min' : every.problem }
  const anchorMs = fromLocalInput(rule.anchor, zone)
  return anchorMs === null
    ? { problem: 'Say from when the time is counted' }
    : { kind: 'interval', everySeconds: every, anchorMs }
}

/** What the engine is asked to keep, or what is missing, in words. */
export function readSchedule(form: ScheduleForm): Read<{ settings: ScheduleSettings }> {
  if (form.name.trim() === '') return { problem: 'Give it a name' }
  const timing = readTiming(form)
  if ('problem' in timing) return timing
  const jobs: RunTemplate[] = []
  for (const [index, each] of form.jobs.entries()) {
    const read = readTemplate(each)
    if ('problem' in read)
      return { problem: form.jobs.length > 1 ? `Jobs ${index + 1}: ${read.problem}` : read.problem }
    jobs.push(read)
  }
  const catchUpWindow = readSpan(form.catchUpWindow, 31_622_400)
  if (typeof catchUpWindow !== 'number') return { problem: `Catch-up window: ${catchUpWindow.problem}` }
  const jitter = readSpan(form.jitter, 86_400)
  if (typeof jitter !== 'number') return { problem: `Jitter: ${jitter.problem}` }
  const maxRuns = readCount(form.maxRuns, 1_000_000_000)
  if (maxRuns === undefined) return { problem: 'Ends after: a whole number of runs, or nothing' }
  const pauseAfterFailures = readCount(form.pauseAfterFailures, 1_000)
  if (pauseAfterFailures === undefined)
    return { problem: 'Pause after failures: a whole number up to 1,000, or nothing' }
  return {
    settings: {
      ...timing,
      name: form.name.trim(),
      jobs,
      overlap: form.overlap,
      catchUp: form.catchUp,
      catchUpWindowSeconds: catchUpWindow,
      jitterSeconds: jitter,
      maxRuns,
      pauseAfterFailures
    }
  }
}

/** `place` decides which placeholders there are. */
export function readTemplate(form: TemplateForm, place: 'schedule' | 'chain' = 'schedule'): Read<RunTemplate> {
  if (form.project === null) return { problem: 'Choose a project' }
  if (form.spiders.length === 0) return { problem: 'Choose at least one spider' }
  if (form.where === 'node' && form.nodeId === null) return { problem: 'Choose a node, or run on any' }
  const tags = parseTagExpression(form.tags)
  if (form.where === 'tags' && ('problem' in tags || tags.terms.length === 0))
    return { problem: 'problem' in tags ? tags.problem : 'Choose a tag, or run on any node' }
  for (const kind of ['args', 'settings'] as const)
    for (const row of form[kind]) {
      const problem = problemOfRow(kind, row, form[kind]) ?? problemOfText(row.value, place)
      if (problem !== null) return { problem }
      if (lacksSecret(row)) return { problem: `${row.name.trim()}: enter its secret value` }
    }
  const argSets = readArgSets(form.argSets, place)
  if ('problem' in argSets) return argSets
  const matrix = readMatrix(form.matrix)
  if ('problem' in matrix) return matrix
  const limits = readLimits(form.limits)
  if ('problem' in limits) return { problem: limits.problem }
  const retry = readRetry(form.retry)
  if ('problem' in retry) return { problem: retry.problem }
  const secretNames = [...form.args, ...form.settings].filter(({ isSecret }) => isSecret).map(({ name }) => name.trim())
  return RunTemplate.parse({
    project: form.project,
    version: form.version,
    spiders: [...form.spiders],
    args: valuesOf(form.args),
    settings: valuesOf(form.settings),
    argSets: argSets.sets,
    matrix: matrix.matrix,
    secretNames: [...new Set(secretNames)].filter((name) => name !== ''),
    limits: limits.limits,
    priority: form.priority,
    nodeId: form.where === 'node' ? form.nodeId : null,
    tags: form.where === 'tags' && 'terms' in tags ? tags.terms : [],
    retry: retry.retry
  })
}

/** `page=1 sort="a b"` for each line; quotes hold blanks together. */
export function readArgSets(
  text: string,
  place: 'schedule' | 'chain' = 'schedule'
): Read<{ sets: Record<string, string>[] }> {
  const sets: Record<string, string>[] = []
  for (const [index, line] of linesOf(text).entries()) {
    const set: Record<string, string> = {}
    for (const [whole, name, quoted, plain] of line.matchAll(/([^\s=]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))|\S+/g)) {
      if (name === undefined) return { problem: `Line ${index + 1} of the sets: “${whole}” is no name=value` }
      const value = quoted === undefined ? (plain ?? '') : quoted.replace(/\\(.)/g, '$1')
      const problem = problemOfText(value, place)
      if (problem !== null) return { problem: `Line ${index + 1} of the sets: ${problem}` }
      set[name] = value
    }
    sets.push(set)
  }
  return { sets }
}

export const writeArgSet = (set: Record<string, string>): string =>
  Object.entries(set)
    .map(([name, value]) => `${name}=${/^[^\s"]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`)
    .join(' ')

function readMatrix(rows: readonly FormRow[]): Read<{ matrix: Record<string, string[]> }> {
  const matrix: Record<string, string[]> = {}
  for (const row of rows) {
    const name = row.name.trim()
    const values = row.value
      .split(',')
      .map((value) => value.trim())
      .filter((value) => value !== '')
    if (name === '' && values.length === 0) continue
    const problem = problemOfRow('args', row, rows) ?? problemOfText(row.value)
    if (problem !== null) return { problem }
    if (values.length === 0) return { problem: `${name}: give it values, with commas between` }
    matrix[name] = [...new Set(values)]
  }
  return { matrix }
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Seconds; empty: 0. */
function readSpan(text: string, maximum: number): number | { problem: string } {
  if (/^\s*(0\s*(s|min|h|d)?)?\s*$/.test(text)) return 0
  const read = parseLimit('wallSeconds', text)
  if ('problem' in read) return read
  const seconds = read.value ?? 0
  return seconds > maximum ? { problem: `At most ${formatDuration(maximum)}` } : seconds
}

/** null: none; undefined: not a number that it may be. */
function readCount(text: string, maximum: number): number | null | undefined {
  if (text.trim() === '') return null
  const count = Number(text)
  return Number.isInteger(count) && count >= 1 && count <= maximum ? count : undefined
}
