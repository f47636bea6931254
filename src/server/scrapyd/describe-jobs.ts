import type { ProjectName } from '../../shared/contract/index.ts'
import { twoDigits } from '../../shared/time.ts'
import type { FileTree, ScrapydJobs, ScrapydRun } from '../../engine/api/scrapyd-commands/scrapyd-shapes.ts'
import { encodeOnce, type PythonJsonValue } from './python-text.ts'

type Options = { hasLogs: boolean; hasItems: boolean }
type Fields = Record<string, PythonJsonValue>
const ofStore = new WeakSet<Fields>()
const described = new WeakMap<ScrapydJobs, { options: Options; fields: Fields }>()

/** The fields of listjobs.json in Scrapyd's order (scrapyd-protocol.md, 3.8). The same `jobs` give the same object. */
export function describeJobs(jobs: ScrapydJobs, options: Options): Fields {
  const kept = described.get(jobs)
  if (kept?.options === options) return kept.fields
  const fields = makeFields(jobs, options)
  described.set(jobs, { options, fields })
  if (jobs.isOfStore) ofStore.add(fields)
  return fields
}

function makeFields(jobs: ScrapydJobs, options: Options): Fields {
  const urls = (run: ScrapydRun) => ({
    log_url: options.hasLogs ? fileUrl('logs', run, run.logFile) : null,
    items_url: options.hasItems ? fileUrl('items', run, run.itemsFile) : null
  })
  return {
    pending: jobs.pending.map(({ jobid, project, spider, version, settings, args }) => ({
      id: jobid,
      project,
      spider,
      version,
      settings,
      args
    })),
    running: jobs.running.map((job) => ({
      id: job.jobid,
      project: job.project,
      spider: job.spider,
      pid: job.pid,
      start_time: formatLocalTime(job.startedAtMs),
      ...urls(job)
    })),
    // Cache the encoded jobs, because the array stays the same until one of its jobs changes.
    finished: encodeOnce(jobs.finished, () =>
      jobs.finished.map((job) => ({
        id: job.jobid,
        project: job.project,
        spider: job.spider,
        // If a job ended before its node listed it as running, it has no start time, but clients expect one.
        start_time: formatLocalTime(job.startedAtMs ?? job.endedAtMs),
        end_time: formatLocalTime(job.endedAtMs),
        ...urls(job)
      }))
    )
  }
}

/** Whether all engines on this store would respond with the same fields. */
export const areOfStore = (fields: Fields): boolean => ofStore.has(fields)

/** Returns a URL without a host and without percent-encoding, as in Scrapyd. */
export function fileUrl(
  tree: FileTree,
  run: { project: ProjectName; spider: string },
  file: string | null
): string | null {
  return file === null ? null : `/${tree}/${run.project}/${run.spider}/${file}`
}

/**
 * Formats local time without a zone: `2026-11-19 18:10:00.123000`. Scrapyd omits a zero fraction (2.2), but some
 * clients fail without a fraction. Scrapyd's microseconds make this rare. With our milliseconds, one time in a thousand
 * would have no fraction, so the fraction is always included.
 */
export function formatLocalTime(atMs: number | null): string | null {
  if (atMs === null) return null
  const time = new Date(atMs)
  const date = `${String(time.getFullYear()).padStart(4, '0')}-${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())}`
  const clock = `${twoDigits(time.getHours())}:${twoDigits(time.getMinutes())}:${twoDigits(time.getSeconds())}`
  return `${date} ${clock}.${String(time.getMilliseconds()).padStart(3, '0')}000`
}
