import { execFile, spawn } from 'node:child_process'
import type { NodeSignal } from '../../node-client.ts'
import type { Clock, Timer } from '../../../runtime/clock.ts'

/**
 * Signals a process group leader and all its descendants. Resolves with whether any existed. Windows has only KILL.
 * There, any other signal asks the processes to close, and processes without a window can ignore it.
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

interface CommandResult {
  code: number | null
  signal: string | null
  stdout: string
  stderr: string
  /** Why we stopped the command. null: it ended on its own. */
  stoppedFor: 'time' | 'output' | 'abort' | null
}

const STDERR_KEPT_CHARACTERS = 16_384
const DRAIN_MS = 1000

/**
 * Runs a command in its own process group. The time limit ends the whole group. Rejects only if the command cannot
 * start.
 */
export function runCommand(options: {
  command: string
  args: string[]
  directory?: string
  environment: NodeJS.ProcessEnv
  timeLimitMs: number
  stdoutLimitBytes: number
  clock: Clock
  signal?: AbortSignal
  /** Receives the lines of both outputs. The result then has no stdout. */
  onLine?: (line: string, isError: boolean) => void
}): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(options.command, options.args, {
      cwd: options.directory,
      env: options.environment,
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe']
    })
    let stdout = ''
    let stderr = ''
    const unfinished = { out: '', error: '' }
    let stoppedFor: CommandResult['stoppedFor'] = null

    const stop = (reason: NonNullable<CommandResult['stoppedFor']>) => {
      stoppedFor ??= reason
      if (child.pid !== undefined) signalGroup(child.pid, 'KILL').catch(reject)
    }
    let drain: Timer | null = null
    const onAbort = () => stop('abort')
    const timer = options.clock.setTimer(options.timeLimitMs, () => stop('time'))
    options.signal?.addEventListener('abort', onAbort, { once: true })
    if (options.signal?.aborted) onAbort()

    const emitLines = (stream: 'out' | 'error', text: string) => {
      if (!options.onLine) return
      const lines = (unfinished[stream] + text).split(/\r?\n/)
      unfinished[stream] = lines.pop()!.slice(-10_000)
      for (const whole of lines) options.onLine(whole, stream === 'error')
    }

    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (options.onLine) return emitLines('out', text)
      stdout += text
      if (stdout.length > options.stdoutLimitBytes) stop('output')
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_KEPT_CHARACTERS)
      emitLines('error', text)
    })
    const release = () => {
      timer.cancel()
      drain?.cancel()
      options.signal?.removeEventListener('abort', onAbort)
    }
    // A process that left the group can hold our pipes open forever, so we drop later output.
    child.once('exit', () => {
      drain = options.clock.setTimer(DRAIN_MS, () => {
        child.stdout.destroy()
        child.stderr.destroy()
      })
    })
    child.once('error', (error) => {
      release()
      reject(error)
    })
    child.once('close', (code, signal) => {
      release()
      for (const stream of ['out', 'error'] as const) if (unfinished[stream] !== '') emitLines(stream, '\n')
      resolve({ code, signal, stdout, stderr, stoppedFor })
    })
  })
}
