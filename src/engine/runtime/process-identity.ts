import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'

/**
 * Identifies a process even if its pid is reused. `startTime` has the format of supervisor.py, or is empty if the
 * system reports no start time.
 */
export interface ProcessIdentity {
  pid: number
  startTime: string
}

/** Whether exactly this process still exists. A zombie (ended but not yet reaped by its parent) does not count. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const startTime = await readStartTime(identity.pid)
  return startTime !== null && (identity.startTime === '' || startTime === identity.startTime)
}

/** The start time of a live process, or null if no process has this pid. */
export async function readStartTime(pid: number): Promise<string | null> {
  if (process.platform === 'linux') return readFromProc(pid)
  if (process.platform === 'darwin') return askPs(pid)
  return processExists(pid) ? '' : null
}

/** Clock ticks since boot (proc(5), stat, field 22) are unique only together with the boot id. */
async function readFromProc(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
    // The second field, the command in parentheses, can itself contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return null
    const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'ascii')).trim()
    return `${bootId}:${fields[19]}`
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    // ESRCH: the process ended between open and read.
    if (code === 'ENOENT' || code === 'ESRCH') return null
    throw error
  }
}

function askPs(pid: number): Promise<string | null> {
  return new Promise((resolve) => {
    const options = { env: { LC_ALL: 'C', TZ: 'UTC' } }
    execFile('/bin/ps', ['-o', 'stat=,lstart=', '-p', String(pid)], options, (error, stdout) => {
      const [, state, startTime] = /^\s*(\S+)\s+(.+?)\s*$/.exec(stdout) ?? []
      resolve(error || !state || state.startsWith('Z') ? null : startTime!)
    })
  })
}

export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
