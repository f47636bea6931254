import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/projects.ts'
import type { Clock } from '../runtime/clock.ts'
import { runInThread, threadFile } from '../runtime/thread-task.ts'
import type { EggNaming } from './egg-builder.ts'
import type { OpenEgg } from './egg-opening.ts'

export interface EggTask {
  path: string
  naming: EggNaming
  builtPath: string
}

/**
 * The limits of one thread. A gigabyte of code and data takes less than a minute. A list of 50,000 files takes 40 MB.
 */
const LIMITS = { memoryMb: 100, timeoutMs: 180_000 }

/** Runs openEgg in a thread, because a malicious archive can use unlimited memory or time. Rejects with EGG_UNSAFE. */
export function createEggThreads(clock: Clock, limits: typeof LIMITS = LIMITS): OpenEgg {
  return (path, naming, builtPath) => {
    const input: EggTask = { path, naming, builtPath }
    const tooLarge = (what: string) => new ScrapdeckError('EGG_UNSAFE', sentence('projects.archive_not_read', { what }))
    return runInThread({ file: threadFile(import.meta.url, 'egg-worker'), input, clock, tooLarge, ...limits })
  }
}
