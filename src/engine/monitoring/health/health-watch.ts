import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { ChangeLog } from '../../storage/store.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'

export interface Health {
  /** false: the process must be restarted. */
  live: boolean
  /** false: send no requests for now. */
  ready: boolean
  /** Must not contain paths or names, because anyone can read the reasons without credentials. */
  reasons: string[]
}

const CHECK_EVERY_MS = 5_000
/** The time limit of a check: longer than a working disk needs, shorter than load balancers wait. */
const CHECK_LIMIT_MS = 2_000
/** The size of the probe file: more than file systems store in an inode, so that a full disk refuses the write. */
const PROBE_BYTES = 16_384
const BLOBS_LATE = 'The blob storage does not respond'

export interface HealthWatchParts {
  dataDirectory: string
  isStoreDead: () => boolean
  isStopping: () => boolean
  store: Pick<ChangeLog, 'changeCursor'>
  checkBlobs?: () => Promise<string | null>
  clock: Clock
  logger: Logger
  write?: (path: string) => Promise<void>
}

export class HealthWatch {
  readonly #parts: HealthWatchParts
  #problem: string | null = null
  /** Does not affect `ready`: other engines use the same storage, and most work does not need it. */
  #blobProblem: string | null = null
  #checkedAtMs = Number.NEGATIVE_INFINITY
  readonly #checking = new SingleFlight()
  #writing: Promise<string | null> | null = null
  readonly #asking = new SingleFlight<string | null>()

  constructor(parts: HealthWatchParts) {
    this.#parts = parts
  }

  now(): Health {
    const { isStoreDead, isStopping } = this.#parts
    if (isStoreDead()) {
      return { live: false, ready: false, reasons: ['The database is unusable. Restart Scrapdeck'] }
    }
    const reasons = [isStopping() ? 'Scrapdeck is stopping' : null, this.#problem].filter((reason) => reason !== null)
    const ready = reasons.length === 0
    return { live: true, ready, reasons: this.#blobProblem === null ? reasons : [...reasons, this.#blobProblem] }
  }

  /** Returns the state after checking the disk, which happens at most every five seconds. */
  async check(): Promise<Health> {
    if (this.#parts.clock.monotonicMs() - this.#checkedAtMs >= CHECK_EVERY_MS) {
      await this.#checking.run(() => this.#checkDisk())
    }
    return this.now()
  }

  async #checkDisk(): Promise<void> {
    const { dataDirectory, store, clock, logger, write = writeProbe, checkBlobs = async () => null } = this.#parts
    // At most one write at a time, even if it hangs.
    this.#writing ??= Promise.all([
      write(join(dataDirectory, 'health-probe')).then(() => null, describeProblem),
      store.changeCursor().then(
        () => null,
        () => 'The database does not respond'
      )
    ])
      .then(([disk, database]) => disk ?? database)
      .finally(() => {
        this.#writing = null
      })
    const { promise: isLate, resolve } = Promise.withResolvers<string>()
    const timer = clock.setTimer(CHECK_LIMIT_MS, () =>
      resolve('The disk of the data directory or the database does not respond')
    )
    const blobs = this.#asking.run(checkBlobs)
    const [found, blobProblem] = await Promise.all([
      Promise.race([this.#writing, isLate]),
      Promise.race([blobs, isLate.then(() => BLOBS_LATE)])
    ])
    timer.cancel()
    this.#blobProblem = blobProblem
    if (found !== this.#problem)
      logger.warn(
        { problem: found },
        found === null ? 'disk and database respond again' : 'disk or database do not respond'
      )
    this.#problem = found
    this.#checkedAtMs = clock.monotonicMs()
  }
}

/** Creates a new file each time, because overwriting an existing one needs no free space. */
async function writeProbe(path: string): Promise<void> {
  try {
    // Some file systems report a full disk only on close.
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
