import { z } from 'zod'
import { problemOfTiming } from '../../../shared/calendar/index.ts'
import { type Dependency, RunInput, RunTemplate, ScheduleSettings } from '../../../shared/contract/index.ts'
import { formatDuration } from '../../../shared/time.ts'
import type { RunPrefill } from '../../state/open-dialogs.ts'
import { type FormRow, rowsForm, rowsOf, secretNamesOf, valuesOf } from '../../ui/fields/form-rows.ts'
import { jobForm, jobTexts, type JobTexts } from '../../ui/fields/job-form.ts'
import { durationText, formBy } from '../../ui/fields/texts.ts'
import { localZone } from '../../ui/moment.ts'
import type { WhenTexts } from './run-when-form.ts'
import { texts as words } from '../../../shared/texts/ui/run.ts'
import { textOfProblem } from '../../api/in-language.ts'

/** Times are in the format of `<input type="datetime-local">`. */
export interface RunTexts extends JobTexts {
  when: WhenTexts
  notBeforeMs: string
  expiresAtMs: string
  /** null: the project's setting. */
  noOverlap: boolean | null
  after: Dependency[]
  dedupe: { key: string; ttlSeconds: string }
  env: FormRow[]
  withoutDefaults: string[]
}

export interface Asked {
  run: RunInput
  schedule: ScheduleSettings | null
}

export const AFTER_MAX = 100

/** The initial form: the values with which the dialog was opened, or else those used last. */
export function startForm(prefill: RunPrefill, last: RunPrefill | null): RunTexts {
  // Arguments belong to a spider, so another project does not get those of the last run.
  const base = prefill.project === undefined || prefill.project === last?.project ? { ...last, ...prefill } : prefill
  if (prefill.spiders !== undefined && !prefill.spiders.every((spider) => last?.spiders?.includes(spider))) {
    base.args = prefill.args
    base.settings = prefill.settings
    base.env = prefill.env
    base.secretNames = prefill.secretNames
    base.limits = prefill.limits
    base.retry = prefill.retry
    base.noOverlap = prefill.noOverlap
  }
  const texts = jobTexts({ ...base, version: prefill.version ?? null } as Parameters<typeof jobTexts>[0])
  const { notBeforeMs, expiresAtMs, after = [], dedupe } = prefill
  return {
    ...texts,
    // Fields without a value use the defaults of the project and the spider.
    where: base.nodeId === undefined && base.tags === undefined ? 'default' : texts.where,
    priority: base.priority ?? '',
    env: rowsOf(base.env, base.secretNames),
    withoutDefaults: prefill.withoutDefaults ?? [],
    when: {
      kind: notBeforeMs == null ? 'now' : 'at',
      expression: '0 3 * * *',
      zone: localZone(),
      name: ''
    },
    // Times, dependencies and the dedupe key belong to one run, so the next run does not get them.
    notBeforeMs: localTime(notBeforeMs),
    expiresAtMs: localTime(expiresAtMs),
    noOverlap: base.noOverlap ?? null,
    after,
    dedupe: { key: dedupe?.key ?? '', ttlSeconds: dedupe ? formatDuration(dedupe.ttlSeconds) : '1 h' }
  }
}

const { shape } = RunInput
const timeText = z.string().transform((text) => (text === '' ? null : Date.parse(text)))

const OnceForm = z
  .object({
    when: z.object({ kind: z.enum(['now', 'at']) }),
    notBeforeMs: timeText,
    expiresAtMs: timeText,
    noOverlap: z.boolean().nullable(),
    after: shape.after.unwrap(),
    env: rowsForm('env'),
    withoutDefaults: shape.withoutDefaults.unwrap(),
    dedupe: z
      .custom<{ key: string; ttlSeconds: string }>()
      .transform(({ key, ttlSeconds }) => (key.trim() === '' ? null : { key: key.trim(), ttlSeconds }))
      .pipe(
        z
          .object({ key: z.string(), ttlSeconds: durationText(shape.dedupe.unwrap().unwrap().shape.ttlSeconds) })
          .nullable()
      )
  })
  .check(({ value, issues }) => {
    const { when, notBeforeMs, expiresAtMs } = value
    const add = (path: string, message: string) => issues.push({ code: 'custom', message, path: [path], input: value })
    if (when.kind === 'at' && notBeforeMs === null) add('notBeforeMs', words.enterTime)
    if (expiresAtMs === null) return
    if (expiresAtMs <= Date.now()) add('expiresAtMs', words.timeInPast)
    else if (when.kind === 'at' && expiresAtMs <= (notBeforeMs ?? 0)) add('expiresAtMs', words.expiryBeforeStart)
  })

/** Contains only what was entered. The project's settings apply to everything else. */
const OnceRun = jobForm(null)
  .and(OnceForm)
  .transform(
    ({ retry, when, notBeforeMs, expiresAtMs, noOverlap, after, dedupe, env, withoutDefaults, ...run }): Asked => ({
      run: {
        ...run,
        ...(env.length > 0 && {
          env: valuesOf(env),
          secretNames: [...new Set([...run.secretNames, ...secretNamesOf(env)])]
        }),
        ...(withoutDefaults.length > 0 && { withoutDefaults }),
        ...(retry !== null && { retry }),
        ...(when.kind === 'at' && { notBeforeMs }),
        ...(expiresAtMs !== null && { expiresAtMs }),
        ...(noOverlap !== null && { noOverlap }),
        ...(after.length > 0 && { after }),
        ...(dedupe !== null && { dedupe })
      },
      schedule: null
    })
  )

/** Overlap, catch-up and similar settings keep their defaults. The schedule editor can change them. */
const RepeatedRun = jobForm('schedule')
  .and(
    z.object({
      when: z.object({
        expression: z.string().trim().min(1, words.enterCronExpression).max(200),
        zone: z.string(),
        name: z.string()
      })
    })
  )
  .transform(({ when: { expression, zone, name }, ...run }, context): Asked => {
    const schedule = ScheduleSettings.parse({
      name: name.trim() || words.usualScheduleName(run.spiders.join(', '), run.project).slice(0, 200),
      zone,
      rules: [{ kind: 'cron', expression }],
      jobs: [RunTemplate.parse(run)]
    })
    const problem = problemOfTiming(schedule)
    if (problem !== null)
      context.issues.push({
        code: 'custom',
        message: textOfProblem(problem),
        path: ['when', 'expression'],
        input: expression
      })
    return { run, schedule }
  })

/** Fields hidden by the choice of When are not validated and keep their text. */
export const RunForm = formBy<Asked, RunTexts>((texts) => (texts.when.kind === 'cron' ? RepeatedRun : OnceRun))

/** `2026-11-21T14:00`, in the local time zone. */
function localTime(atMs: number | null | undefined): string {
  if (atMs == null) return ''
  const at = new Date(atMs)
  return new Date(atMs - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
