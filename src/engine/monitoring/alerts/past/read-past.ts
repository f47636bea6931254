import type { AlertScope, JobFilter, JobId, ScheduleId } from '../../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../../shared/alert-watches.ts'
import type { OnlyProjects, PastRun, StoredAlertFact, StoredErrorGroup } from '../../../model/records.ts'
import type {
  AlertFactStore,
  ErrorStore,
  FindingStore,
  FiringReader,
  JobReader,
  ScheduleReader
} from '../../../storage/store.ts'
import { bornMs } from '../signals/stored-signals.ts'
import { type PastJob, pastJobOf } from './events-of-jobs.ts'
import { DAY_MS } from './events-of-others.ts'
import { SIGNALS_READ_BEFORE_MS } from './signal-history.ts'

export type PastStore = JobReader & ErrorStore & FindingStore & FiringReader & ScheduleReader & AlertFactStore

/**
 * The maximum number of rows per kind. They are read in slices, so that a preview neither fills the memory nor blocks
 * the store.
 */
const ROWS_MAX = 50_000
const ROWS_AT_ONCE = 1_000
const SLICE_BYTES = 4_000_000
const ERRORS_AT_ONCE = 500
const SCHEDULES_MENDED_MAX = 50

interface Read<Row> {
  rows: Row[]
  isComplete: boolean
}

/** Jobs queued since `sinceMs`, newest first. The result is complete if it has all jobs since `wantedMs`. */
export async function readJobs(
  store: JobReader,
  filter: JobFilter & OnlyProjects,
  { sinceMs, wantedMs }: { sinceMs: number; wantedMs: number }
): Promise<Read<PastJob>> {
  const rows: PastJob[] = []
  let before: JobId | null = null
  for (;;) {
    const page = { before, limit: ROWS_AT_ONCE, maxBytes: SLICE_BYTES }
    const slice = await store.listJobs({ ...filter, sinceMs }, page)
    for (const job of slice) rows.push(pastJobOf(job))
    const last = slice.at(-1)
    if (last === undefined) return { rows, isComplete: true }
    if (rows.length >= ROWS_MAX) return { rows, isComplete: last.queuedAtMs < wantedMs }
    before = last.id
  }
}

async function readSlices<Row, Place>(
  atOnce: number,
  read: (after: Place | null) => Promise<Row[]>,
  { placeOf, isTooOld = () => false }: { placeOf: (row: Row) => Place; isTooOld?: (row: Row) => boolean }
): Promise<Read<Row>> {
  const rows: Row[] = []
  let after: Place | null = null
  for (;;) {
    const slice = await read(after)
    for (const row of slice) if (!isTooOld(row)) rows.push(row)
    const last = slice.at(-1)
    if (last === undefined || slice.length < atOnce || isTooOld(last)) return { rows, isComplete: true }
    if (rows.length >= ROWS_MAX) return { rows, isComplete: false }
    after = placeOf(last)
  }
}

/** Oldest first. */
export function readRecorded(
  store: AlertFactStore,
  watch: AlertWatch,
  sinceMs: number
): Promise<Read<StoredAlertFact>> {
  const page = { fromMs: sinceMs - SIGNALS_READ_BEFORE_MS, limit: ROWS_AT_ONCE }
  const placeOf = ({ atMs, id }: { atMs: number; id: number }) => ({ atMs, id })
  return readSlices(
    ROWS_AT_ONCE,
    (after: ReturnType<typeof placeOf> | null) => store.listAlertFacts(watch, { ...page, after }),
    { placeOf }
  )
}

export async function readErrors(
  store: ErrorStore,
  filter: { project?: string | undefined } & OnlyProjects,
  sinceMs: number
): Promise<Read<StoredErrorGroup>> {
  const page = { limit: ERRORS_AT_ONCE, sinceMs: Number.MAX_SAFE_INTEGER }
  const { rows, isComplete } = await readSlices(
    ERRORS_AT_ONCE,
    (before: Pick<StoredErrorGroup, 'lastSeenMs' | 'id'> | null) => store.listErrorGroups(filter, { ...page, before }),
    { placeOf: ({ lastSeenMs, id }) => ({ lastSeenMs, id }), isTooOld: ({ lastSeenMs }) => lastSeenMs < sinceMs }
  )
  return { rows: rows.filter((group) => bornMs(group) >= sinceMs), isComplete }
}

/** Resolves to the end times, ascending, of the successful runs since `sinceMs` and of the last success before that. */
export async function readSuccesses(
  store: FindingStore,
  { project, spider }: Pick<AlertScope, 'project' | 'spider'>,
  sinceMs: number
): Promise<Read<number>> {
  const rows: number[] = []
  let upTo: JobId | null = null
  for (;;) {
    const slice: PastRun[] = await store.listSuccessfulRuns(project!, spider!, { upTo, limit: ROWS_AT_ONCE })
    const fresh: PastRun[] = upTo === null ? slice : slice.slice(1)
    for (const { endedAtMs } of fresh) if (endedAtMs !== null) rows.push(endedAtMs)
    const last: PastRun | undefined = fresh.at(-1)
    const isAll = last === undefined || (last.endedAtMs ?? 0) < sinceMs
    if (!isAll && rows.length < ROWS_MAX) {
      upTo = last.jobId
      continue
    }
    const ascending = rows.sort((one, other) => one - other)
    const first = ascending.findLastIndex((endMs) => endMs < sinceMs)
    return { rows: ascending.slice(Math.max(0, first)), isComplete: isAll }
  }
}

/**
 * Reads firings since the day before `sinceMs` that created no job, and the times at which schedules with failed
 * firings fired again.
 */
export async function readFirings(
  store: FiringReader & ScheduleReader,
  scheduleId: ScheduleId | null,
  sinceMs: number
) {
  const since = sinceMs - DAY_MS
  const filter = { states: ['missed' as const, 'failed' as const], ...(scheduleId !== null && { scheduleId }) }
  const { rows, isComplete } = await readSlices(
    ROWS_AT_ONCE,
    (before: number | null) => store.listFirings(filter, { before, limit: ROWS_AT_ONCE }),
    { placeOf: ({ id }) => id, isTooOld: ({ atMs }) => atMs < since }
  )
  const ids = [...new Set(rows.map((one) => one.scheduleId))]
  const schedules = new Map((await store.getSchedules(ids)).map((one) => [one.id, one]))
  const refused = [...new Set(rows.filter(({ state }) => state === 'failed').map((one) => one.scheduleId))]
  const fired = new Map<ScheduleId, number[]>()
  for (const id of refused.slice(0, SCHEDULES_MENDED_MAX)) {
    const firings = await store.listFirings(
      { scheduleId: id, states: ['fired'] },
      { before: null, limit: ROWS_AT_ONCE }
    )
    fired.set(
      id,
      firings.map(({ atMs }) => atMs).sort((one, other) => one - other)
    )
  }
  return { rows, schedules, fired, isComplete: isComplete && refused.length <= SCHEDULES_MENDED_MAX }
}
