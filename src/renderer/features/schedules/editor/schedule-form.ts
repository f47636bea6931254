import { z } from 'zod'
import { isZone, problemOfCron, problemOfText, problemOfTiming } from '../../../../shared/calendar/index.ts'
import {
  OverlapPolicy,
  RunTemplate,
  SECRET_MASK,
  ScheduleRule,
  ScheduleSettings,
  ScheduleTiming
} from '../../../../shared/contract/index.ts'
import { formatDuration } from '../../../../shared/time.ts'
import { jobForm, jobTexts, type JobTexts } from '../../../ui/fields/job-form.ts'
import { durationText, linesOf, numberText } from '../../../ui/fields/texts.ts'
import { type FormRow, rowsForm, rowsOf } from '../../../ui/fields/form-rows.ts'
import { localZone } from '../../../ui/moment.ts'
import { fromLocalInput, toLocalInput } from '../zoned-time.ts'
import { texts as words } from '../../../../shared/texts/ui/schedules.ts'
import { textOfProblem } from '../../../api/in-language.ts'

/** A rule while the user edits it, named as in the contract. Times of day are in the schedule's zone. */
export interface RuleTexts {
  readonly key: number
  readonly kind: ScheduleRule['kind']
  readonly expression: string
  /** `1 h 30 min` */
  readonly everySeconds: string
  readonly anchorMs: string
  readonly atMs: string
}

export interface TemplateTexts extends JobTexts {
  key: number
  /** One line per job: `page=1 sort=asc`. */
  argSets: string
  /** One row per name, with its values separated by commas. */
  matrix: FormRow[]
  /** The user of a crawl order. The editor does not change it. */
  userId: string | null
}

export interface TimingTexts {
  zone: string
  rules: RuleTexts[]
  excludedDates: string[]
  excludedCrons: string
  gap: ScheduleTiming['gap']
  doubled: ScheduleTiming['doubled']
  startMs: string
  endMs: string
}

export interface ScheduleTexts extends TimingTexts {
  name: string
  jobs: TemplateTexts[]
  overlap: OverlapPolicy
  catchUp: ScheduleSettings['catchUp']
  catchUpWindowSeconds: string
  jitterSeconds: string
  maxRuns: string
  pauseAfterFailures: string
}

let nextKey = 1
const HOUR_MS = 3_600_000

export const newRule = (zone: string, nowMs: number, over: Partial<RuleTexts> = {}): RuleTexts => ({
  key: nextKey++,
  kind: 'cron',
  expression: '0 3 * * *',
  everySeconds: '30 min',
  anchorMs: toLocalInput(Math.floor(nowMs / HOUR_MS) * HOUR_MS, zone),
  atMs: toLocalInput(Math.ceil(nowMs / HOUR_MS + 1) * HOUR_MS, zone),
  ...over
})

export const newTemplate = (over: Partial<RunTemplate> = {}): TemplateTexts => ({
  ...jobTexts(over),
  // In a template, 0 means unset, so the defaults apply.
  priority: over.priority || '',
  key: nextKey++,
  userId: over.userId ?? null,
  argSets: (over.argSets ?? []).map(writeArgSet).join('\n'),
  matrix: rowsOf(
    Object.fromEntries(Object.entries(over.matrix ?? {}).map(([name, values]) => [name, values.join(', ')]))
  )
})

/** The engine reads the mask as the saved value, so users need not enter an unchanged secret again. */
export function templateOf(template: RunTemplate): TemplateTexts {
  const texts = newTemplate(template)
  const keep = (rows: FormRow[]) => rows.map((row) => (row.isSecret ? { ...row, value: SECRET_MASK } : row))
  return { ...texts, args: keep(texts.args), settings: keep(texts.settings) }
}

export function emptyForm(nowMs: number, template: Partial<RunTemplate> = {}): ScheduleTexts {
  const zone = localZone()
  return {
    name: '',
    zone,
    rules: [newRule(zone, nowMs)],
    jobs: [newTemplate(template)],
    excludedDates: [],
    excludedCrons: '',
    gap: 'run_at_shift',
    doubled: 'run_once',
    startMs: '',
    endMs: '',
    overlap: 'skip',
    catchUp: 'last',
    catchUpWindowSeconds: '1 h',
    jitterSeconds: '',
    maxRuns: '',
    pauseAfterFailures: ''
  }
}

export function formOf(settings: ScheduleSettings, nowMs: number): ScheduleTexts {
  const { zone, name, gap, doubled, overlap, catchUp } = settings
  const local = (atMs: number | null) => (atMs === null ? '' : toLocalInput(atMs, zone))
  return {
    name,
    zone,
    gap,
    doubled,
    overlap,
    catchUp,
    rules: settings.rules.map((rule) => newRule(zone, nowMs, rulePatch(rule, zone))),
    jobs: settings.jobs.map(templateOf),
    excludedDates: settings.excludedDates,
    excludedCrons: settings.excludedCrons.join('\n'),
    startMs: local(settings.startMs),
    endMs: local(settings.endMs),
    catchUpWindowSeconds: formatDuration(settings.catchUpWindowSeconds),
    jitterSeconds: settings.jitterSeconds === 0 ? '' : formatDuration(settings.jitterSeconds),
    maxRuns: String(settings.maxRuns ?? ''),
    pauseAfterFailures: String(settings.pauseAfterFailures ?? '')
  }
}

/** Returns only the fields of a moved rule's kind. The fields of other kinds keep their text. */
export const rulePatch = (rule: ScheduleRule, zone: string): Partial<RuleTexts> => ({
  kind: rule.kind,
  ...(rule.kind === 'cron' && { expression: rule.expression }),
  ...(rule.kind === 'interval' && {
    everySeconds: formatDuration(rule.everySeconds),
    anchorMs: toLocalInput(rule.anchorMs, zone)
  }),
  ...(rule.kind === 'once' && { atMs: toLocalInput(rule.atMs, zone) })
})

/** Secrets must be entered again, because the engine knows them only for the original. */
export function copyOf(settings: ScheduleSettings, nowMs: number): ScheduleTexts {
  const form = formOf(settings, nowMs)
  return { ...form, name: words.copy(form.name), jobs: settings.jobs.map(newTemplate) }
}

const [, IntervalRule] = ScheduleRule.options
const momentText = z.string().min(1, words.enterTime)
const cronText = z
  .string()
  .trim()
  .check(({ value, issues }) => {
    const problem = problemOfCron(value)
    if (problem !== null) issues.push({ code: 'custom', message: textOfProblem(problem), input: value })
  })

export const TimingForm = z
  .object({
    zone: z.string().refine(isZone, words.chooseTimeZone),
    rules: z.array(
      z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('cron'), expression: cronText }),
        z.object({
          kind: z.literal('interval'),
          everySeconds: durationText(IntervalRule.shape.everySeconds),
          anchorMs: momentText
        }),
        z.object({ kind: z.literal('once'), atMs: momentText })
      ])
    ),
    excludedDates: z.array(z.string()),
    excludedCrons: z
      .string()
      .transform(linesOf)
      .check(({ value, issues }) => {
        const wrong = value.flatMap((one) => problemOfCron(one) ?? [])[0]
        if (wrong !== undefined) issues.push({ code: 'custom', message: textOfProblem(wrong), input: value })
      }),
    gap: ScheduleTiming.shape.gap.unwrap(),
    doubled: ScheduleTiming.shape.doubled.unwrap(),
    startMs: z.string(),
    endMs: z.string()
  })
  .transform((form, context): ScheduleTiming => {
    const at = (text: string) => fromLocalInput(text, form.zone)
    const timing = {
      ...form,
      rules: form.rules.map((rule): ScheduleRule => {
        if (rule.kind === 'cron') return rule
        return rule.kind === 'once' ? { ...rule, atMs: at(rule.atMs)! } : { ...rule, anchorMs: at(rule.anchorMs)! }
      }),
      startMs: form.startMs === '' ? null : at(form.startMs),
      endMs: form.endMs === '' ? null : at(form.endMs)
    }
    const problem = problemOfTiming(timing)
    if (problem !== null) {
      const message = textOfProblem(problem)
      const { startMs, endMs } = timing
      const path = startMs !== null && endMs !== null && startMs > endMs ? 'endMs' : 'rules'
      context.issues.push({ code: 'custom', message, path: [path], input: form })
    }
    return timing
  }) as never as z.ZodType<ScheduleTiming, TimingTexts>

/** `page=1 sort="a b"` per line. Quotes keep spaces together. */
export const argSetsText = (place: 'schedule' | 'chain') =>
  z.string().transform((text, context) => {
    const refuse = (line: number, problem: string) =>
      context.issues.push({ code: 'custom', message: words.problemOfLine(line, problem), input: text })
    return linesOf(text).map((line, index) => {
      const set: Record<string, string> = {}
      for (const [whole, name, quoted, plain] of line.matchAll(/([^\s=]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))|\S+/g)) {
        if (name === undefined) {
          refuse(index + 1, words.notNameValue(whole))
          continue
        }
        set[name] = quoted === undefined ? (plain ?? '') : quoted.replace(/\\(.)/g, '$1')
        const problem = problemOfText(set[name], place)
        if (problem !== null) refuse(index + 1, textOfProblem(problem))
      }
      return set
    })
  })

export const writeArgSet = (set: Record<string, string>): string =>
  Object.entries(set)
    .map(([name, value]) => `${name}=${/^[^\s"]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`)
    .join(' ')

const valuesOfRow = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((value) => value.trim())
      .filter((value) => value !== '')
  )
]

const MatrixForm = rowsForm('args', (value) => textOfProblem(problemOfText(value)))
  .check(({ value: rows, issues }) => {
    for (const [index, { name, value }] of rows.entries())
      if (name.trim() !== '' && valuesOfRow(value).length === 0)
        issues.push({
          code: 'custom',
          message: words.enterValues,
          path: [index, 'value'],
          input: rows
        })
  })
  .transform((rows) =>
    Object.fromEntries(
      rows.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), valuesOfRow(value)])
    )
  )

/** `place` decides which placeholders are available. */
export const templateForm = (place: 'schedule' | 'chain'): z.ZodType<RunTemplate, TemplateTexts> =>
  jobForm(place)
    .and(z.object({ argSets: argSetsText(place), matrix: MatrixForm, userId: z.string().nullable() }))
    .transform((template) => RunTemplate.parse(template)) as never

const { shape } = ScheduleSettings

export const ScheduleForm = TimingForm.and(
  z.object({
    name: z.string().trim().min(1, words.enterName).pipe(shape.name),
    jobs: z.array(templateForm('schedule')),
    overlap: OverlapPolicy,
    catchUp: shape.catchUp.unwrap(),
    catchUpWindowSeconds: durationText(shape.catchUpWindowSeconds.unwrap(), 0),
    jitterSeconds: durationText(shape.jitterSeconds.unwrap(), 0),
    maxRuns: numberText(shape.maxRuns.unwrap(), null),
    pauseAfterFailures: numberText(shape.pauseAfterFailures.unwrap(), null)
  })
) as z.ZodType<ScheduleSettings, ScheduleTexts>
