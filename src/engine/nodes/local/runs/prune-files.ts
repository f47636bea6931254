import { lstat, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProjectName } from '../../../../shared/contract/index.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { SingleFlight } from '../../../runtime/single-flight.ts'

interface PrunerOptions {
  directories: string[]
  keep: number
  /** Files that were last changed before this time are neither deleted nor counted. Default: all count. */
  notBeforeMs?: number
  isNeeded: (jobid: string) => boolean
  logger: Logger
}

/**
 * Implements `jobs_to_keep`: keeps each spider's newest files in each directory. As in Scrapyd (scrapyd-protocol.md,
 * 6.4), files of any name count. Files of jobs for which `isNeeded` is true are neither deleted nor counted.
 */
export class Pruner {
  readonly #options: PrunerOptions
  readonly #waiting = new Map<string, [project: ProjectName, spider: string]>()
  readonly #flight = new SingleFlight()

  constructor(options: PrunerOptions) {
    this.#options = options
  }

  /** Call this when a job of this spider starts. Deletes old files in the background. */
  prune(project: ProjectName, spider: string): void {
    this.#waiting.set(JSON.stringify([project, spider]), [project, spider])
    void this.#flight.run(() => this.#work())
  }

  async settled(): Promise<void> {
    await this.#flight.running
  }

  async #work(): Promise<void> {
    for (const [key, [project, spider]] of this.#waiting) {
      this.#waiting.delete(key)
      for (const directory of this.#options.directories) await this.#pruneDirectory(join(directory, project, spider))
    }
  }

  async #pruneDirectory(directory: string): Promise<void> {
    const { keep, logger, notBeforeMs = 0 } = this.#options
    try {
      const names = (await readdir(directory, { withFileTypes: true })).flatMap((entry) =>
        entry.isDirectory() || this.#isNeeded(entry.name) ? [] : [entry.name]
      )
      if (names.length <= keep) return
      const all = await Promise.all(
        names.map(async (name) => ({ name, changedAtMs: (await lstat(join(directory, name))).mtimeMs }))
      )
      const files = all.filter(({ changedAtMs }) => changedAtMs >= notBeforeMs)
      files.sort((one, other) => other.changedAtMs - one.changedAtMs)
      for (const { name } of files.slice(keep)) {
        // A job with this id may have started in the meantime.
        if (!this.#isNeeded(name)) await unlink(join(directory, name))
      }
    } catch (error) {
      // The directory does not exist yet, or another program removed the file. The next start retries.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
      logger.warn({ directory, error: String(error) }, 'old logs and items could not be removed (jobs_to_keep)')
    }
  }

  /** Names are JOBID.log, JOBID.jl, or LogParser's JOBID.json. A jobid can contain dots. */
  #isNeeded(name: string): boolean {
    for (let at = name.length; at > 0; at = name.lastIndexOf('.', at - 1)) {
      if (this.#options.isNeeded(name.slice(0, at))) return true
    }
    return false
  }
}
