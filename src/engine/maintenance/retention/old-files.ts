import type { KeepPolicy, ProjectName, RetentionPolicy, StoragePolicy } from '../../../shared/contract/index.ts'
import type { KeptItemsFile, RetentionBounds } from '../../model/records.ts'
import type { ProjectBounds } from '../../model/retention.ts'

export interface RunFile {
  project: string
  spider: string
  name: string
  sizeBytes: number
  changedAtMs: number
  blobOf?: KeptItemsFile
}

const DAY_MS = 86_400_000

/**
 * Returns the files to delete, oldest first. Never returns a spider's newest file or a file changed within the last
 * day. `isOverTerm`: the file is older than `days`. Only then are files of jobs that may have run twice deleted.
 */
export function oldFiles(
  files: readonly RunFile[],
  { days, perSpider, bytes }: KeepPolicy,
  nowMs: number
): (RunFile & { isOverTerm: boolean })[] {
  const newestFirst = files.toSorted((one, other) => other.changedAtMs - one.changedAtMs)
  const ofSpider = new Map<string, number>()
  let total = 0
  const old = newestFirst.flatMap((file) => {
    const rank = (ofSpider.get(file.spider) ?? 0) + 1
    ofSpider.set(file.spider, rank)
    total += file.sizeBytes
    if (rank === 1 || file.changedAtMs >= nowMs - DAY_MS) return []
    const isOverTerm = days !== null && file.changedAtMs < nowMs - days * DAY_MS
    const isOver = isOverTerm || (perSpider !== null && rank > perSpider) || (bytes !== null && total > bytes)
    return isOver ? [{ ...file, isOverTerm }] : []
  })
  return old.reverse()
}

export interface RunFiles<File extends RunFile = RunFile> {
  list(): Promise<File[]>
  listOld(files: readonly File[], policy: KeepPolicy, nowMs: number): Promise<File[]>
  delete(file: File): Promise<void>
}

export function bothOf(local: RunFiles, archived: RunFiles): RunFiles {
  const isArchived = ({ blobOf }: RunFile) => blobOf !== undefined
  return {
    list: async () => (await Promise.all([local.list(), archived.list()])).flat(),
    listOld: async (files, policy, nowMs) => [
      ...(await local.listOld(
        files.filter((file) => !isArchived(file)),
        policy,
        nowMs
      )),
      ...(await archived.listOld(files.filter(isArchived), policy, nowMs))
    ],
    delete: (file) => (isArchived(file) ? archived : local).delete(file)
  }
}

export function policyOf({ defaults, projects }: StoragePolicy, project: string): RetentionPolicy {
  return { ...defaults, ...(Object.hasOwn(projects, project) ? projects[project as ProjectName] : undefined) }
}

/** `jobBytes` is the average size of a job in the database, which converts a limit in bytes into a number of jobs. */
export function boundsOf(policy: StoragePolicy, nowMs: number, jobBytes: number): RetentionBounds {
  const bounds = ({ jobs, logs }: RetentionPolicy): ProjectBounds => ({
    jobs: {
      endedSinceMs: sinceOf(jobs, nowMs),
      newestPerSpider: jobs.perSpider,
      newestPerProject: jobs.bytes === null ? null : Math.max(1, Math.floor(jobs.bytes / Math.max(1, jobBytes)))
    },
    logs: { endedSinceMs: sinceOf(logs, nowMs), newestPerSpider: logs.perSpider, bytesPerProject: logs.bytes }
  })
  const names = Object.keys(policy.projects) as ProjectName[]
  return {
    nowMs,
    defaults: bounds(policy.defaults),
    projects: new Map(names.map((project) => [project, bounds(policyOf(policy, project))]))
  }
}

const sinceOf = ({ days }: Pick<KeepPolicy, 'days'>, nowMs: number): number | null =>
  days === null ? null : nowMs - days * DAY_MS
