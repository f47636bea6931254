import type { AlertScope, JobFilter, JobId, ScheduleId } from '../../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../../shared/alert-watches.ts'
import type { OnlyProjects, PastRun, StoredAlertFact, StoredErrorGroup, StoredFiring } from '../../../model/records.ts'
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

/** Per kind, read in slices: a preview must not fill the memory or occupy the store. */
const ROWS_MAX = 50_000
const ROWS_AT_ONCE = 1_000
const SLICE_BYTES = 4_000_000
const ERRORS_AT_ONCE = 500
const SCHEDULES_MENDED_MAX = 50

interface Read<Row> {
  rows: Row[]
  /** Whether everything since the wanted time was read. */
  isComplete: boolean
}

/** Jobs queued since `sinceMs`, newest first. Complete once those since `wantedMs` are there. */
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

/** Oldest first. */
export async function readRecorded(
  store: AlertFactStore,
  watch: AlertWatch,
  sinceMs: number
): Promise<Read<StoredAlertFact>> {
  const rows: StoredAlertFact[] = []
  let after: { atMs: number; id: number } | null = null
  for (;;) {
    const page = { fromMs: sinceMs - SIGNALS_READ_BEFORE_MS, after, limit: ROWS_AT_ONCE }
    const slice = await store.listAlertFacts(watch, page)
    rows.push(...slice)
    const last = slice.at(-1)
    if (slice.length < ROWS_AT_ONCE || last === undefined) return { rows, isComplete: true }
    if (rows.length >= ROWS_MAX) return { rows, isComplete: false }
    after = { atMs: last.atMs, id: last.id }
  }
}

/** Errors that appeared or reappeared since then. */
export async function readErrors(
  store: ErrorStore,
  filter: { project?: string | undefined } & OnlyProjects,
  sinceMs: number
): Promise<Read<StoredErrorGroup>> {
  const rows: StoredErrorGroup[] = []
  let before: { lastSeenMs: number; id: StoredErrorGroup['id'] } | null = null
  for (let read = 0; read < ROWS_MAX; read += ERRORS_AT_ONCE) {
    const slice = await store.listErrorGroups(filter, {
      before,
      limit: ERRORS_AT_ONCE,
      sinceMs: Number.MAX_SAFE_INTEGER
    })
    rows.push(...slice.filter((group) => bornMs(group) >= sinceMs))
    const last = slice.at(-1)
    if (last === undefined || slice.length < ERRORS_AT_ONCE || last.lastSeenMs < sinceMs)
      return { rows, isComplete: true }
    before = { lastSeenMs: last.lastSeenMs, id: last.id }
  }
  return { rows, isComplete: false }
}

/** Ends of successful runs since then, and the last one before, ascending. */
export async function readSuccesses(
  store: FindingStore,
  { project, spider }: Pick<AlertScope, 'project' | 'spider'>,
  sinceMs: number
): Promise<Read<number>> {
  const rows: number[] = []
  let upTo: JobId | null = null
  for (;;) {
    const slice: PastRun[] = await store.listSuccessfulRuns(project!, spider!, { upTo, limit: ROWS_AT_ONCE })
    // A slice starts with the last row of the previous one.
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

/** Firings since then that created no job; when schedules with refused ones fired after all; and the schedules. */
export async function readFirings(
  store: FiringReader & ScheduleReader,
  scheduleId: ScheduleId | null,
  sinceMs: number
) {
  const since = sinceMs - DAY_MS
  const { rows, isComplete } = await pageFirings(store, { scheduleId, states: ['missed', 'failed'] }, since)
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

async function pageFirings(
  store: FiringReader,
  { scheduleId, states }: { scheduleId: ScheduleId | null; states: StoredFiring['state'][] },
  sinceMs: number
): Promise<Read<StoredFiring>> {
  const rows: StoredFiring[] = []
  let before: number | null = null
  for (;;) {
    const filter = { states, ...(scheduleId !== null && { scheduleId }) }
    const slice: StoredFiring[] = await store.listFirings(filter, { before, limit: ROWS_AT_ONCE })
    rows.push(...slice.filter(({ atMs }) => atMs >= sinceMs))
    const last = slice.at(-1)
    if (last === undefined || slice.length < ROWS_AT_ONCE || last.atMs < sinceMs) return { rows, isComplete: true }
    if (rows.length >= ROWS_MAX) return { rows, isComplete: false }
    before = last.id
  }
}
