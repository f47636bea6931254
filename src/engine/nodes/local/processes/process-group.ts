import { execFile } from 'node:child_process'
import type { NodeSignal } from '../../node-client.ts'

/**
 * Sends a signal to a process that leads its own group, and to all its descendants. Resolves whether there was a
 * process to receive it. Windows has no signals: everything except KILL asks the processes to close, which those
 * without a window may ignore.
 */
export async function signalGroup(leaderPid: number, signal: NodeSignal): Promise<boolean> {
  if (process.platform === 'win32') {
    const force = signal === 'KILL' || signal === 9 ? ['/F'] : []
    return new Promise((resolve) => {
      execFile('taskkill', ['/PID', String(leaderPid), '/T', ...force], (error) => resolve(error === null))
    })
  }
  try {
    process.kill(-leaderPid, typeof signal === 'number' ? signal : `SIG${signal}`)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
