import type { ProjectName } from '../../../shared/contract/index.ts'
import type { ScrapydDatabase } from '../../storage/scrapyd-databases.ts'
import type { SharedQueueRow } from '../../storage/shared-queue-table.ts'
import { readPickle } from './pickle.ts'

/** One that is empty or missing is an empty text, which is no name and no time. */
const COLUMNS = ['project', 'spider', 'job', 'status', 'start_time', 'end_time']
type Texts = [ProjectName, string, string, string, string, string]

/**
 * The jobs of a shared queue (`pending`, `ongoing`, `terminated`), by project, as if each project had a database of its
 * Scrapyd. An ongoing one of a Scrapyd that has stopped has ended; when is unknown: `nowMs`.
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

/** A pickle, JSON as text, or a JSON column: JSON, as Scrapyd's own queue has it. What it lacks, the columns have. */
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
