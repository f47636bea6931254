import type { Clock } from '../../runtime/clock.ts'
import { threadFile } from '../../runtime/thread-task.ts'
import { ThreadPool } from '../../runtime/thread-pool.ts'

const MEMORY_MB = 256
const IDLE_MS = 30_000

/** The threads of searches, or of the index; search-worker.ts implements their tasks. */
export function openSearchThreads(clock: Clock, threads: number): ThreadPool {
  const file = threadFile(import.meta.url, 'search-worker')
  return new ThreadPool({ file, name: 'scrapdeck-search', threads, memoryMb: MEMORY_MB, idleMs: IDLE_MS, clock })
}
