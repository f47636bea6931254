import type { VersionName, ProjectName } from '../../../shared/contract/index.ts'
import { problemOfPathPart } from '../../projects/names.ts'
import type { NewJob } from '../../model/records.ts'
import type { ScrapydDatabase } from '../../storage/scrapyd-databases.ts'
import type { SharedQueueRow } from '../../storage/shared-queue-table.ts'
import { readPickle } from './pickle.ts'

/** The columns to read. A missing value becomes an empty string, which is neither a name nor a time. */
const COLUMNS = ['project', 'spider', 'job', 'status', 'start_time', 'end_time']
type Texts = [ProjectName, string, string, string, string, string]

/**
 * Groups the jobs of a shared queue by project, as if each project had its own Scrapyd database. Jobs listed as running
 * ended when Scrapyd stopped. That time is unknown, so `nowMs` counts as their end.
 */
export function projectsOfSharedQueue(
  rows: readonly SharedQueueRow[],
  nowMs: number
): { project: ProjectName; database: ScrapydDatabase }[] {
  const projects = new Map<ProjectName, ScrapydDatabase>()
  for (const [index, row] of rows.entries()) {
    const [project, spider, job, status, startTime, endTime] = COLUMNS.map((name) => String(row[name] ?? '')) as Texts
    const database = projects.get(project) ?? { pending: [], finished: [] }
    projects.set(project, database)
    if (status === 'ongoing' || status === 'terminated') {
      const endedAt = status === 'ongoing' ? new Date(nowMs).toISOString() : endTime
      database.finished.push({ project, spider, job, startTime, endTime: endedAt })
      continue
    }
    const read = status === 'pending' ? messageOf(row['message'], { name: spider, _job: job }) : new Error(OTHER_STATUS)
    const [message, problem] = read instanceof Error ? ['', read.message] : [read, undefined]
    const priority = typeof row['priority'] === 'number' ? row['priority'] : 0
    database.pending.push({ id: typeof row['id'] === 'number' ? row['id'] : index, priority, message, problem })
  }
  return [...projects].map(([project, database]) => ({ project, database }))
}

const OTHER_STATUS = 'its status is none of pending, ongoing and terminated'

/** Missing fields come from the columns. */
function messageOf(message: unknown, columns: Record<string, string>): string | Error {
  try {
    let read = message
    if (typeof message === 'string')
      read = message.startsWith('\\x') ? readPickle(Buffer.from(message.slice(2), 'hex')) : JSON.parse(message)
    if (typeof read !== 'object' || read === null || Array.isArray(read)) throw new Error('it is not a dict')
    return JSON.stringify({ ...columns, ...read })
  } catch (error) {
    return new Error(`its message cannot be read: ${(error as Error).message}`)
  }
}

type PendingJob = Pick<NewJob, 'spider' | 'jobid' | 'version' | 'settings' | 'args' | 'priority'>

/**
 * Reads one row of `spider_queue` (scrapyd-protocol.md, 6.1), or returns why it cannot be imported. Old Scrapyds and
 * other programs can leave lists and numbers where Scrapyd has text.
 */
export function readPendingJob(row: ScrapydDatabase['pending'][number]): PendingJob | string {
  let message: unknown
  if (row.problem != null) return row.problem
  // SQLite stores any type in any column.
  if (typeof row.message !== 'string') return 'its message is not text'
  if (row.priority !== null && typeof row.priority !== 'number') return 'its priority is not a number'
  try {
    message = JSON.parse(row.message)
  } catch {
    return 'its message is not JSON'
  }
  if (!isRecord(message)) return 'its message is not an object'
  const { name, _job, _version = null, settings = {}, ...args } = message
  if (typeof name !== 'string' || typeof _job !== 'string') return 'its message has no spider or no job'
  if (_version !== null && typeof _version !== 'string') return 'its version is not text'
  if (!isRecord(settings)) return 'its settings are not an object'
  for (const [noun, text] of [['spider', name] as const, ['jobid', _job] as const]) {
    const problem = problemOfPathPart(text)
    if (problem !== null) return `its ${noun} ${problem.text}: Scrapyd would have lost it, too`
  }
  const [settingTexts, argTexts] = [toTexts(settings), toTexts(args)]
  if (typeof settingTexts === 'string') return `its setting ${settingTexts} is not text`
  if (typeof argTexts === 'string') return `its argument ${argTexts} is not text`
  return {
    spider: name,
    jobid: _job,
    // Scrapyd accepts "" and then looks for an egg of that name, which is never intended.
    version: _version === '' ? null : (_version as VersionName | null),
    settings: settingTexts,
    args: argTexts,
    priority: finite(row.priority)
  }
}

/**
 * SQLite stores NaN as NULL, and Scrapyd starts such a job last. An infinite priority becomes the highest or lowest
 * finite one.
 */
function finite(priority: number | null): number {
  return Math.min(Math.max(priority ?? Number.NEGATIVE_INFINITY, -Number.MAX_VALUE), Number.MAX_VALUE)
}

/** Converts numbers to text. Returns the quoted name of the first value that is neither text nor a number. */
function toTexts(values: Record<string, unknown>): Record<string, string> | string {
  const texts: [string, string][] = []
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'string' && typeof value !== 'number') return JSON.stringify(name)
    texts.push([name, String(value)])
  }
  return Object.fromEntries(texts)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Reads `2026-11-21 01:02:03.004000` as the local time of this machine, which wrote it. PostgreSQL's JSON has a T, and
 * an offset if the column has a zone. Returns null if the text is invalid.
 */
export function parseScrapydTime(text: string): number | null {
  if (/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text)) return Date.parse(text) || null
  const match = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?$/.exec(text)
  if (match === null) return null
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [number, ...number[]]
  const milliseconds = Math.floor(Number(`0.${match[7] ?? 0}`) * 1000)
  return new Date(year, month! - 1, day, hour, minute, second, milliseconds).getTime()
}
