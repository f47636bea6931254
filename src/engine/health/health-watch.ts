import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'

export interface Health {
  /** false: it must be started again. */
  live: boolean
  /** false: it should get no requests meanwhile. */
  ready: boolean
  /** For whoever asks, without credentials: no paths, no names. */
  reasons: string[]
}

const CHECK_EVERY_MS = 5_000
/** Longer than a disk that works takes, shorter than load balancers wait. */
const CHECK_LIMIT_MS = 2_000
/** More than file systems keep in an inode: a full disk has to say no. */
const PROBE_BYTES = 16_384

export interface HealthWatchParts {
  dataDirectory: string
  isStoreDead: () => boolean
  isStopping: () => boolean
  clock: Clock
  logger: Logger
  /** What a check of the disk does; tests put another in its place. */
  write?: (path: string) => Promise<void>
}

/** Whether the engine is well, for whoever restarts it or sends it requests. */
export class HealthWatch {
  readonly #parts: HealthWatchParts
  #problem: string | null = null
  #checkedAtMs = Number.NEGATIVE_INFINITY
  #checking: Promise<void> | null = null
  #writing: Promise<string | null> | null = null

  constructor(parts: HealthWatchParts) {
    this.#parts = parts
  }

  /** By what is known; waits for nothing, whatever the disk does. */
  now(): Health {
    const { isStoreDead, isStopping } = this.#parts
    // Whoever watches the service must restart it: nothing in it works any more.
    if (isStoreDead()) {
      return { live: false, ready: false, reasons: ['The database is unusable. Restart Scrapdeck'] }
    }
    const reasons = [isStopping() ? 'Scrapdeck is stopping' : null, this.#problem].filter((reason) => reason !== null)
    return { live: true, ready: reasons.length === 0, reasons }
  }

  /** The same after the disk was checked. However often this is called, the disk is checked once in five seconds. */
  async check(): Promise<Health> {
    if (this.#parts.clock.monotonicMs() - this.#checkedAtMs >= CHECK_EVERY_MS) {
      await (this.#checking ??= this.#checkDisk())
    }
    return this.now()
  }

  async #checkDisk(): Promise<void> {
    const { dataDirectory, clock, logger, write = writeProbe } = this.#parts
    // A write that hangs is not followed by others that would hang as well.
    this.#writing ??= write(join(dataDirectory, 'health-probe'))
      .then(() => null, describeProblem)
      .finally(() => {
        this.#writing = null
      })
    const { promise: isLate, resolve } = Promise.withResolvers<string>()
    const timer = clock.setTimer(CHECK_LIMIT_MS, () => resolve('The disk of the data directory does not respond'))
    const found = await Promise.race([this.#writing, isLate])
    timer.cancel()
    if (found !== this.#problem)
      logger.warn({ problem: found }, found === null ? 'the disk accepts writes again' : 'the disk rejects writes')
    this.#problem = found
    this.#checkedAtMs = clock.monotonicMs()
    this.#checking = null
  }
}

/** A file of its own each time: one that is written again needs no space that is not there already. */
async function writeProbe(path: string): Promise<void> {
  try {
    // Some file systems say only when it is closed that there is no space.
    await using file = await open(path, 'w', 0o600)
    await file.write(Buffer.alloc(PROBE_BYTES))
  } finally {
    await rm(path, { force: true })
  }
}

function describeProblem(error: unknown): string {
  const code = String((error as NodeJS.ErrnoException).code ?? 'unknown')
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk of the data directory is full: free some space'
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') {
    return 'The data directory cannot be written: give the user that runs Scrapdeck write permission, or mount it for writing'
  }
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'The data directory no longer exists'
  return `The data directory cannot be written (${code}): check its disk`
}
