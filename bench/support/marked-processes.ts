import { readdirSync, readFileSync } from 'node:fs'

/**
 * A variable in the environment of all processes that one side of a bench starts. It identifies these processes and
 * their descendants.
 */
export const MARK = 'BENCH_SIDE'

/** The memory of a process in bytes: private, and proportional (with the process's share of shared memory). */
export interface Memory {
  privateBytes: number
  proportionalBytes: number
}

export function findMarked(value: string): number[] {
  const wanted = `${MARK}=${value}`
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readProcess(pid, 'environ').split('\0').includes(wanted))
    .map(Number)
}

/** Reads Private_Clean + Private_Dirty and Pss from smaps_rollup. Returns null if the process has ended. */
export function readMemory(pid: number): Memory | null {
  const text = readProcess(pid, 'smaps_rollup')
  if (text === '') return null
  const kilobytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0)
  return {
    privateBytes: (kilobytes('Private_Clean') + kilobytes('Private_Dirty')) * 1024,
    proportionalBytes: kilobytes('Pss') * 1024
  }
}

export function endMarked(value: string): void {
  for (const pid of findMarked(value)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch (error) {
      // The process ended before the signal was sent.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

function readProcess(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw error
  }
}
