import type { Clock } from '../../runtime/clock.ts'
import { threadFile } from '../../runtime/thread-task.ts'
import { ThreadPool } from '../../runtime/thread-pool.ts'

/** More would only compete for the same disk, and with what the engine is for. */
const THREADS = 2
const MEMORY_MB = 256
const IDLE_MS = 30_000

/** The threads for whatever reads whole logs; log-worker.ts has what they can do. */
export function openLogThreads(clock: Clock): ThreadPool {
  const file = threadFile(import.meta.url, 'log-worker')
  return new ThreadPool({ file, name: 'scrapdeck-logs', threads: THREADS, memoryMb: MEMORY_MB, idleMs: IDLE_MS, clock })
}
