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

export interface HealthWatch {
  /** By what is known; waits for nothing, whatever the disk does. */
  now(): Health
  /** The same after a look at the disk. However often it is asked, the disk is looked at once in five seconds. */
  look(): Promise<Health>
}

const LOOK_EVERY_MS = 5_000
/** Longer than a disk that works takes, shorter than load balancers wait. */
const LOOK_LIMIT_MS = 2_000
/** More than file systems keep in an inode: a full disk has to say no. */
const PROBE_BYTES = 16_384

/** `write`: what a look does; tests put another in its place. */
export function createHealthWatch(parts: {
  dataDirectory: string
  isStoreDead: () => boolean
  isStopping: () => boolean
  clock: Clock
  logger: Logger
  write?: (path: string) => Promise<void>
}): HealthWatch {
  const { isStoreDead, isStopping, clock, logger, write = writeProbe } = parts
  const path = join(parts.dataDirectory, 'health-probe')
  let problem: string | null = null
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | null = null
  let writing: Promise<string | null> | null = null

  function now(): Health {
    // Whoever watches the service must restart it: nothing in it works any more.
    if (isStoreDead()) {
      return { live: false, ready: false, reasons: ['The database cannot be used any more: restart Scrapdeck'] }
    }
    const reasons = [isStopping() ? 'Scrapdeck is stopping' : null, problem].filter((reason) => reason !== null)
    return { live: true, ready: reasons.length === 0, reasons }
  }

  async function lookAtDisk(): Promise<void> {
    // A write that hangs is not followed by others that would hang as well.
    writing ??= write(path)
      .then(() => null, describeProblem)
      .finally(() => {
        writing = null
      })
    const { promise: isLate, resolve } = Promise.withResolvers<string>()
    const timer = clock.setTimer(LOOK_LIMIT_MS, () => resolve('The disk of the data directory does not answer'))
    const found = await Promise.race([writing, isLate])
    timer.cancel()
    if (found !== problem)
      logger.warn({ problem: found }, found === null ? 'the disk takes writes again' : 'the disk takes no writes')
    problem = found
    lookedAtMs = clock.monotonicMs()
    looking = null
  }

  return {
    now,
    async look() {
      if (clock.monotonicMs() - lookedAtMs >= LOOK_EVERY_MS) await (looking ??= lookAtDisk())
      return now()
    }
  }
}

/** A file of its own each time: one that is written again needs no space that is not there already. */
async function writeProbe(path: string): Promise<void> {
  try {
    const file = await open(path, 'w', 0o600)
    try {
      await file.write(Buffer.alloc(PROBE_BYTES))
    } finally {
      // Some file systems say only here that there is no space.
      await file.close()
    }
  } finally {
    await rm(path, { force: true })
  }
}

function describeProblem(error: unknown): string {
  const code = String((error as NodeJS.ErrnoException).code ?? 'unknown')
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk of the data directory is full: free some space'
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') {
    return 'The data directory cannot be written: give the user who runs Scrapdeck the right to, or mount it for writing'
  }
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'The data directory is not there any more'
  return `The data directory cannot be written (${code}): look at its disk`
}
