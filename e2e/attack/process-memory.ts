import { readFileSync, writeFileSync } from 'node:fs'

/** Resident memory of a process in MiB (proc(5)). */
export interface ProcessMemory {
  nowMb: number
  /** The peak since the last `resetPeak`. */
  peakMb: number
}

export function readMemory(pid: number): ProcessMemory {
  const status = readFileSync(`/proc/${pid}/status`, 'ascii')
  // A process that was killed for its memory and not reaped yet reports no memory.
  const megabytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.POSITIVE_INFINITY) / 1024
  return { nowMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') }
}

export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
