import { z } from 'zod'
import { OUTCOMES, OVERLAP_POLICIES } from '../choices.ts'
import { codeOfText, problemText } from './coded-text.ts'
import { ChainId, JobId, NodeId, ProjectName, ScheduleId, AnyProjectName, VersionName, ShownName } from './ids.ts'
import { ask, pageBytes, read, write } from './operation.ts'
import { Dependency } from './jobs.ts'
import { RetryPolicy, RunLimits, TagTerm } from './settings.ts'
import { MomentMs, MomentOfQueryMs } from './moment.ts'

/** What each firing of a schedule or chain runs: one job per spider, argument set and matrix combination. */
export const RunTemplate = z.object({
  project: ProjectName,
  version: VersionName.nullable().default(null),
  spiders: z.array(z.string().min(1).max(200)).min(1).max(100),
  settings: z.record(z.string(), z.string()).default({}),
  /**
   * The arguments of all jobs. Values can use `{nominal}`, `{previous}`, `{now}` and `{schedule}`, with a date format
   * after a colon (`{nominal:yyyy-MM-dd}`). In chains, they can also use `{stats.NAME}`, `{job}` and `{outcome}` of
   * the previous job. `{{` stands for a brace.
   */
  args: z.record(z.string(), z.string()).default({}),
  /** Added to `args`, one job per set. Empty: one job. */
  argSets: z.array(z.record(z.string(), z.string())).max(1_000).default([]),
  matrix: z.record(z.string(), z.array(z.string()).min(1).max(100)).default({}),
  secretNames: z.array(z.string().max(200)).max(100).default([]),
  limits: RunLimits.nullable().default(null),
  priority: z.number().finite().default(0),
  nodeId: NodeId.nullable().default(null),
  tags: z.array(TagTerm).max(20).default([]),
  retry: RetryPolicy.nullable().default(null),
  userId: z.string().min(1).max(200).nullable().default(null)
})
export type RunTemplate = z.infer<typeof RunTemplate>

/** A zone of the IANA database that `Intl` knows. */
export const TimeZone = z.string().min(1).max(60)
export const CalendarDate = z.string().regex(/^\d{4}-\d\d-\d\d$/, 'Write a day as 2026-12-24')

/** If several rules match the same time, the schedule fires once. */
export const ScheduleRule = z.discriminatedUnion('kind', [
  /** 5 or 6 fields (seconds first), names, ranges, steps, lists, L, W, #, `@daily`… */
  z.object({ kind: z.literal('cron'), expression: z.string().min(1).max(200) }),
  /** Elapsed time from `anchorMs`, regardless of clock changes. */
  z.object({
    kind: z.literal('interval'),
    everySeconds: z.number().int().min(1).max(31_622_400),
    anchorMs: MomentMs
  }),
  z.object({ kind: z.literal('once'), atMs: MomentMs })
])
export type ScheduleRule = z.infer<typeof ScheduleRule>

export const OverlapPolicy = z.enum(OVERLAP_POLICIES)
export type OverlapPolicy = z.infer<typeof OverlapPolicy>

export const ScheduleTiming = z.object({
  zone: TimeZone,
  rules: z.array(ScheduleRule).min(1).max(20),
  /** Excludes occurrences on these days, and occurrences that one of these expressions also matches. */
  excludedDates: z.array(CalendarDate).max(1_000).default([]),
  excludedCrons: z.array(z.string().min(1).max(200)).max(20).default([]),
  /**
   * For a time of day that a clock change skips: run at the change, or not at all. Applies only to rules that name
   * times of day. Rules that recur within the hour (minutes or hours are `*` or a step) follow elapsed time, as in
   * vixie-cron.
   */
  gap: z.enum(['run_at_shift', 'skip']).default('run_at_shift'),
  /** For a time of day that clocks show twice: run at the first, or at both. */
  doubled: z.enum(['run_once', 'run_twice']).default('run_once'),
  startMs: MomentMs.nullable().default(null),
  endMs: MomentMs.nullable().default(null)
})
export type ScheduleTiming = z.infer<typeof ScheduleTiming>

export const ScheduleSettings = ScheduleTiming.extend({
  name: ShownName.max(200),
  jobs: z.array(RunTemplate).min(1).max(50),
  overlap: OverlapPolicy.default('skip'),
  /**
   * Which missed runs to catch up on (the engine was off or asleep, or the clock was stepped). Runs older than the
   * window are only recorded.
   */
  catchUp: z.enum(['none', 'last', 'all']).default('last'),
  catchUpWindowSeconds: z.number().int().min(0).max(31_622_400).default(3_600),
  /** The schedule fires up to this much later, by an offset that is constant per schedule. */
  jitterSeconds: z.number().int().min(0).max(86_400).default(0),
  /** The schedule is paused with the reason `max_runs` after this many firings that created jobs; null: never. */
  maxRuns: z.number().int().min(1).max(1_000_000_000).nullable().default(null),
  /** The schedule is paused after this many consecutive firings with a failed job; null: never. */
  pauseAfterFailures: z.number().int().min(1).max(1_000).nullable().default(null)
})
export type ScheduleSettings = z.infer<typeof ScheduleSettings>

export const FiringState = z.enum(['fired', 'skipped', 'missed', 'failed'])
export const FiringReason = z.enum([
  'on_time',
  'caught_up',
  'run_now',
  'backfill',
  'buffered',
  'overlap',
  'paused',
  'out_of_window',
  'catch_up_none',
  'superseded',
  'gap',
  'max_runs',
  'refused'
])
/** One scheduled time and its result. There is one row per (schedule, nominal time, origin). */
export const Firing = z.object({
  id: z.number().int(),
  scheduleId: ScheduleId,
  nominalMs: z.number(),
  /** `tick`: the clock; `manual`: a user ("run now"); `backfill`: a backfill. */
  origin: z.enum(['tick', 'manual', 'backfill']),
  atMs: z.number(),
  state: FiringState,
  reason: FiringReason,
  text: z.string(),
  ...codeOfText,
  /** The number of consecutive missed times that share this row. */
  count: z.number().int(),
  jobIds: z.array(JobId),
  outcome: z.enum(['live', ...OUTCOMES]).nullable(),
  durationMs: z.number().nullable()
})
export type Firing = z.infer<typeof Firing>

export const Backfill = z.object({
  id: z.string(),
  scheduleId: ScheduleId,
  fromMs: z.number(),
  untilMs: z.number(),
  order: z.enum(['oldest_first', 'newest_first']),
  concurrency: z.number().int(),
  state: z.enum(['running', 'done', 'cancelled']),
  total: z.number().int(),
  fired: z.number().int(),
  ended: z.number().int(),
  failed: z.number().int()
})
export type Backfill = z.infer<typeof Backfill>

export const Schedule = ScheduleSettings.extend({
  name: z.string(),
  id: ScheduleId,
  revision: z.number().int(),
  paused: z.boolean(),
  pauseNote: z.string().nullable(),
  pauseNoteCode: z.string().optional(),
  pauseNoteParams: z.record(z.string(), z.unknown()).optional(),
  pausedBy: z.enum(['operator', 'failures', 'max_runs', 'end', 'invalid']).nullable(),
  createdAtMs: z.number(),
  changedAtMs: z.number(),
  /** Includes jitter, unlike `nextNominalMs`; null: the schedule never fires again. */
  nextAtMs: z.number().nullable(),
  nextNominalMs: z.number().nullable(),
  runCount: z.number().int(),
  failuresInARow: z.number().int(),
  /** The last 30 firings, newest first. In lists, as many as requested. */
  recent: z.array(Firing),
  backfill: Backfill.nullable()
})
export type Schedule = z.infer<typeof Schedule>

/**
 * Creates jobs when a job of another spider ends. Fires once for each job that ends after the chain was created,
 * except for jobs that the chain itself caused, so that a cycle of chains ends after one round.
 */
export const ChainSettings = z.object({
  name: ShownName.max(200),
  enabled: z.boolean().default(true),
  project: ProjectName,
  spider: z.string().min(1).max(200),
  /** `failed` includes lost runs. `ended` is any end, including cancelled. */
  on: Dependency.shape.on,
  run: RunTemplate
})
export type ChainSettings = z.infer<typeof ChainSettings>

export const Chain = ChainSettings.extend({
  name: z.string(),
  id: ChainId,
  firedCount: z.number().int(),
  lastFiredAtMs: z.number().nullable(),
  /** Why the chain created no job when it was last due; null: it created a job, or was not due yet. */
  ...problemText
})
export type Chain = z.infer<typeof Chain>

export const Occurrence = z.object({
  nominalMs: z.number(),
  /** The time on clocks in the zone, with the offset: `2026-03-29T03:00:00+02:00`. */
  local: z.string(),
  /** `gap`: clocks skip this time, so the run starts at the change. `…_of_two`: clocks show this time twice. */
  kind: z.enum(['normal', 'gap', 'first_of_two', 'second_of_two'])
})
export type Occurrence = z.infer<typeof Occurrence>

/** A range that includes `fromMs` but not `untilMs`, so that adjacent ranges do not overlap. */
const Span = z.object({ fromMs: MomentOfQueryMs, untilMs: MomentOfQueryMs })
const Changed = z.object({ schedule: Schedule })
const Ids = z.object({ ids: z.array(ScheduleId).min(1).max(10_000) })

export const schedulesContract = {
  /** Sorted by name. `after`: `nextAfter` of the previous page. A page ends early after 3,000 firings. */
  list: read('read', 'GET /schedules', 'seen', { answerBytes: pageBytes })
    .input(
      z.object({
        text: z.string().max(200).optional(),
        project: AnyProjectName.max(200).optional(),
        userId: z.string().max(200).optional(),
        after: z.string().max(2_000).optional(),
        limit: z.coerce.number().int().min(1).max(500).default(100),
        recent: z.coerce.number().int().min(0).max(30).default(30)
      })
    )
    .output(z.object({ schedules: z.array(Schedule), nextAfter: z.string().nullable(), total: z.number().int() })),
  get: read('read', 'GET /schedules/{id}', { id: 'schedule' })
    .input(z.object({ id: ScheduleId }))
    .output(Schedule),
  /**
   * Rejects with SCHEDULE_NAME_TAKEN if the name is taken. With `replace`, the schedule of that name gets these
   * settings and keeps its history.
   */
  create: write('schedules.change', 'POST /schedules', { jobs: 'runs' })
    .input(ScheduleSettings.extend({ replace: z.boolean().default(false) }))
    .output(Changed),
  /** Rejects with CHANGED_MEANWHILE if `revision` is not the newest. Absent: no check. */
  update: write('schedules.change', 'PUT /schedules/{id}', { id: 'schedule', jobs: 'runs' })
    .input(ScheduleSettings.extend({ id: ScheduleId, revision: z.number().int().optional() }))
    .output(Changed),
  remove: write('schedules.change', 'POST /schedules/remove', { ids: 'schedules' })
    .input(Ids)
    .output(z.object({ removed: z.array(ScheduleId) })),
  setPaused: write('schedules.change', 'POST /schedules/paused', { ids: 'schedules' })
    .input(Ids.extend({ paused: z.boolean(), note: z.string().max(1_000).nullable().default(null) }))
    .output(z.object({ schedules: z.array(Schedule) })),
  runNow: write('jobs.run', 'POST /schedules/{id}/run', { id: 'schedule' })
    .input(z.object({ id: ScheduleId }))
    .output(z.object({ firing: Firing })),
  /** Returns fewer than `count` run times if they are spread over decades or hard to find. Rejects with BAD_INPUT. */
  preview: ask('read', 'POST /schedules/preview', 'caller')
    .input(
      z.object({
        timing: ScheduleTiming,
        fromMs: MomentMs.optional(),
        count: z.number().int().min(1).max(1_000).default(10)
      })
    )
    .output(z.object({ words: z.string(), occurrences: z.array(Occurrence) })),
  /** Run times of all schedules in a range, without jitter. `more`: the range has more than `limit` run times. */
  calendar: read('read', 'GET /schedules/calendar', 'seen')
    .input(Span.extend({ limit: z.coerce.number().int().min(1).max(20_000).default(5_000) }))
    .output(z.object({ moments: z.array(z.object({ scheduleId: ScheduleId, atMs: z.number() })), more: z.boolean() })),
  /** Firings per minute, with jitter, and the fleet's slots. Shows where schedules should be spread out. */
  load: read('read', 'GET /schedules/load', 'seen')
    .input(Span)
    .output(
      z.object({
        slots: z.number().int(),
        minutes: z.array(z.object({ atMs: z.number(), firings: z.number().int(), jobs: z.number().int() }))
      })
    ),
  /** Newest first; firings of all schedules if `scheduleId` is absent. A page ends early after 4 MB of job ids. */
  firings: read('read', 'GET /schedules/firings', 'seen', { answerBytes: pageBytes })
    .input(
      z.object({
        scheduleId: ScheduleId.optional(),
        state: z.union([z.array(FiringState).max(4), FiringState.transform((one) => [one])]).optional(),
        before: z.coerce.number().int().optional(),
        limit: z.coerce.number().int().min(1).max(500).default(100)
      })
    )
    .output(z.object({ firings: z.array(Firing), nextBefore: z.number().int().nullable() })),
  /**
   * Omits times that already have a job, and times for which this is unknown (`forgotten`) because the history was
   * pruned.
   */
  planBackfill: ask('read', 'POST /schedules/{id}/backfill/plan', { id: 'schedule' })
    .input(z.object({ id: ScheduleId, fromMs: MomentMs, untilMs: MomentMs }))
    .output(
      z.object({
        count: z.number().int(),
        jobs: z.number().int(),
        alreadyRun: z.number().int(),
        forgotten: z.number().int(),
        first: z.array(Occurrence),
        last: z.array(Occurrence)
      })
    ),
  backfill: write('jobs.run', 'POST /schedules/{id}/backfill', { id: 'schedule' })
    .input(
      z.object({
        id: ScheduleId,
        fromMs: MomentMs,
        untilMs: MomentMs,
        order: z.enum(['oldest_first', 'newest_first']).default('oldest_first'),
        concurrency: z.number().int().min(1).max(1_000).default(1)
      })
    )
    .output(z.object({ backfill: Backfill })),
  cancelBackfill: write('jobs.cancel', 'POST /schedules/{id}/backfill/cancel', { id: 'schedule' })
    .input(z.object({ id: ScheduleId, cancelJobs: z.boolean().default(false) }))
    .output(z.object({ backfill: Backfill }))
}

export const chainsContract = {
  list: read('read', 'GET /chains', 'seen').output(z.object({ chains: z.array(Chain) })),
  create: write('schedules.change', 'POST /chains', { project: 'project', run: 'run' })
    .input(ChainSettings)
    .output(z.object({ chain: Chain })),
  update: write('schedules.change', 'PUT /chains/{id}', { id: 'chain', project: 'project', run: 'run' })
    .input(ChainSettings.extend({ id: ChainId }))
    .output(z.object({ chain: Chain })),
  remove: write('schedules.change', 'DELETE /chains/{id}', { id: 'chain' })
    .input(z.object({ id: ChainId }))
    .output(z.object({ removed: z.boolean() }))
}
