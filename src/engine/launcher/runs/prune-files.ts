import { lstat, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProjectName } from '../../../shared/contract/index.ts'
import type { Logger } from '../../runtime/logger.ts'

interface PrunerOptions {
  directories: string[]
  keep: number
  isNeeded: (jobid: string) => boolean
  logger: Logger
}

/**
 * `jobs_to_keep`: of each spider's files in each directory, the newest by modification time stay. As in Scrapyd
 * (scrapyd-protocol.md, 6.4) names do not matter, but a file of a job that `isNeeded` (running, or its log being read)
 * is neither deleted nor counted.
 */
export class Pruner {
  readonly #options: PrunerOptions
  readonly #waiting = new Map<string, [project: ProjectName, spider: string]>()
  #working: Promise<void> | null = null

  constructor(options: PrunerOptions) {
    this.#options = options
  }

  /** A job of this spider starts: what is too old is deleted, soon, not before the job. */
  prune(project: ProjectName, spider: string): void {
    this.#waiting.set(JSON.stringify([project, spider]), [project, spider])
    this.#working ??= this.#work().finally(() => {
      this.#working = null
    })
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await this.#working
  }

  async #work(): Promise<void> {
    for (const [key, [project, spider]] of this.#waiting) {
      this.#waiting.delete(key)
      for (const directory of this.#options.directories) await this.#pruneDirectory(join(directory, project, spider))
    }
  }

  async #pruneDirectory(directory: string): Promise<void> {
    const { keep, logger } = this.#options
    try {
      const names = (await readdir(directory, { withFileTypes: true })).flatMap((entry) =>
        entry.isDirectory() || this.#isNeeded(entry.name) ? [] : [entry.name]
      )
      if (names.length <= keep) return
      const files = await Promise.all(
        names.map(async (name) => ({ name, changedAtMs: (await lstat(join(directory, name))).mtimeMs }))
      )
      files.sort((one, other) => other.changedAtMs - one.changedAtMs)
      for (const { name } of files.slice(keep)) {
        // A job with this id may have come meanwhile.
        if (!this.#isNeeded(name)) await unlink(join(directory, name))
      }
    } catch (error) {
      // The directory is not there yet, or somebody else removes files, too: the next start tries again.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
      logger.warn({ directory, error: String(error) }, 'old logs and items could not be removed (jobs_to_keep)')
    }
  }

  /** Names are JOBID.log, JOBID.jl, JOBID.json of LogParser, and a jobid may have dots itself. */
  #isNeeded(name: string): boolean {
    for (let at = name.length; at > 0; at = name.lastIndexOf('.', at - 1)) {
      if (this.#options.isNeeded(name.slice(0, at))) return true
    }
    return false
  }
}
