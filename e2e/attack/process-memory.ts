import { readFileSync, writeFileSync } from 'node:fs'

/** Resident memory of a process, in megabytes (proc(5)). */
export interface ProcessMemory {
  nowMb: number
  /** The highest since the last `resetPeak`. */
  peakMb: number
}

export function readMemory(pid: number): ProcessMemory {
  const status = readFileSync(`/proc/${pid}/status`, 'ascii')
  // One that was killed for its memory, and is not waited for yet, has none.
  const megabytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.POSITIVE_INFINITY) / 1024
  return { nowMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') }
}

/** From here on `peakMb` counts anew. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
