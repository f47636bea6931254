import { lstat, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProjectName } from '../../../shared/contract/index.ts'
import type { Logger } from '../../runtime/logger.ts'

export interface Pruner {
  /** A job of this spider starts: what is too old goes, soon, not before the job. */
  prune(project: ProjectName, spider: string): void
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
}

/**
 * `jobs_to_keep`: of the files of each spider, in each of these directories, the newest by their time of change stay. As Scrapyd
 * does it (scrapyd-protocol.md, 6.4) whatever their names, but never a file of a job that `isNeeded`: one that runs, or whose log
 * is still being read. Those are not counted either.
 */
export function createPruner(options: {
  directories: string[]
  keep: number
  isNeeded: (jobid: string) => boolean
  logger: Logger
}): Pruner {
  const waiting = new Map<string, [project: ProjectName, spider: string]>()
  let working: Promise<void> | null = null

  return {
    prune(project, spider) {
      waiting.set(JSON.stringify([project, spider]), [project, spider])
      working ??= work().finally(() => {
        working = null
      })
    },
    settled: async () => working ?? undefined
  }

  async function work(): Promise<void> {
    for (const [key, [project, spider]] of waiting) {
      waiting.delete(key)
      for (const directory of options.directories) await pruneDirectory(join(directory, project, spider))
    }
  }

  async function pruneDirectory(directory: string): Promise<void> {
    try {
      const names = (await readdir(directory, { withFileTypes: true })).flatMap((entry) =>
        entry.isDirectory() || isNeeded(entry.name) ? [] : [entry.name]
      )
      if (names.length <= options.keep) return
      const files = await Promise.all(
        names.map(async (name) => ({ name, changedAtMs: (await lstat(join(directory, name))).mtimeMs }))
      )
      files.sort((one, other) => other.changedAtMs - one.changedAtMs)
      for (const { name } of files.slice(options.keep)) {
        // A job with this id may have come meanwhile.
        if (!isNeeded(name)) await unlink(join(directory, name))
      }
    } catch (error) {
      // The directory is not there yet, or somebody else removes files, too: the next start tries again.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
      options.logger.warn({ directory, error: String(error) }, 'old logs and items could not be removed (jobs_to_keep)')
    }
  }

  /** Names are JOBID.log, JOBID.jl, JOBID.json of LogParser, and a jobid may have dots itself. */
  function isNeeded(name: string): boolean {
    for (let at = name.length; at > 0; at = name.lastIndexOf('.', at - 1)) {
      if (options.isNeeded(name.slice(0, at))) return true
    }
    return false
  }
}
