import type { EggPolicy, ProjectName, VersionName } from '../../../shared/contract/index.ts'
import type { Projects } from '../../projects/projects.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Sweep } from '../../runtime/sweep.ts'

export interface KeptEgg {
  project: ProjectName
  version: VersionName
  sizeBytes: number
  createdAtMs: number
  /** The version that jobs use by default: the pinned one, otherwise the latest. */
  isActive: boolean
  isPinned: boolean
  isNamed: boolean
}

const DAY_MS = 86_400_000

/**
 * Returns the versions of one project that exceed the policy. The deletion itself checks whether queued or live jobs
 * need them.
 */
export function oldEggs(eggs: readonly KeptEgg[], { days, newest }: EggPolicy, nowMs: number): KeptEgg[] {
  if (days === null) return []
  const byAge = eggs.toSorted((one, other) => other.createdAtMs - one.createdAtMs)
  return byAge
    .slice(newest)
    .filter((egg) => egg.createdAtMs < nowMs - days * DAY_MS && !egg.isActive && !egg.isPinned && !egg.isNamed)
}

/**
 * Deletes eggs in shared storage that no version names and that are too old to belong to an unfinished upload. Ends
 * abandoned uploads. Log and item blobs need no sweep, because the store lists those to be deleted.
 */
export function sweepUnusedBlobs(parts: {
  projects: Pick<Projects, 'listUnusedEggs' | 'deleteUnusedEgg'>
  blobs: { abortLeftUploads(): Promise<number> }
  clock: Clock
  logger: Logger
}): Sweep<string> {
  const { projects, blobs, clock, logger } = parts
  return new Sweep({
    clock,
    logger,
    words: 'unused blobs could not be deleted yet',
    describe: (blob) => ({ blob }),
    async list() {
      const aborted = await blobs.abortLeftUploads()
      if (aborted > 0) logger.info({ aborted }, 'uploads to the blobs that were left unfinished were aborted')
      return projects.listUnusedEggs()
    },
    async work(blob) {
      const isDeleted = await projects.deleteUnusedEgg(blob)
      if (isDeleted) logger.info({ blob }, 'an unused egg was deleted')
      return isDeleted
    }
  })
}
