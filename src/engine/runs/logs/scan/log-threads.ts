import type { Clock } from '../../../runtime/clock.ts'
import { threadFile } from '../../../runtime/thread-task.ts'
import { ThreadPool } from '../../../runtime/thread-pool.ts'

const MEMORY_MB = 64
const IDLE_MS = 30_000

/** The threads that read whole logs; log-worker.ts implements their tasks. */
export function openLogThreads(clock: Clock, threads: number): ThreadPool {
  const file = threadFile(import.meta.url, 'log-worker')
  return new ThreadPool({ file, name: 'scrapdeck-logs', threads, memoryMb: MEMORY_MB, idleMs: IDLE_MS, clock })
}
