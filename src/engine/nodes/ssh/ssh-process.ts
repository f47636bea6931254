import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { childEnvironment } from '../local/processes/child-environment.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { EXIT_NOT_FOUND } from './ssh-problem.ts'

export interface SshProcess {
  child: ChildProcess
  ended: Promise<{ stderr: string; exitCode: number | null }>
  hasEnded(): boolean
  stderr(): string
  /** Call this after the login, because earlier warnings do not explain why ssh ends. */
  forgetStderr(): void
  /** Resolves after the process has ended. Can be called twice. */
  stop(): Promise<void>
}

const STDERR_CHARACTERS_MAX = 16_000
const STDERR_GRACE_MS = 200
const KILL_AFTER_MS = 2_000

/**
 * Runs ssh in its own process group. The group ends when our end of the pipe on fd 3 closes: on `stop`, or when
 * this process ends for any reason. dash, bash and zsh all run this script the same way.
 */
const GROUP = `exec 3<&0 </dev/null
"$@" 3<&- &
ssh=$!
{ read -r _ <&3; kill -TERM 0; } 2>/dev/null &
watch=$!
wait "$ssh"
status=$?
kill "$watch"
exit "$status"`

export function startInGroup(program: string, args: string[], clock: Clock): SshProcess {
  const child = start('/bin/sh', ['-c', GROUP, 'sh', program, ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true
  })
  child.stdin!.on('error', () => {
    // The group is ending anyway.
  })
  return follow(child, clock, { askToEnd: () => child.stdin!.end(), kill: () => killGroup(child) })
}

/**
 * Runs ssh without a process group. On Windows, ssh ends with this process, because Node puts its child processes
 * into a job object.
 */
export function startAlone(program: string, args: string[], clock: Clock, stdin: 'ignore' | 'pipe'): SshProcess {
  const stdout = stdin === 'pipe' ? 'pipe' : 'ignore'
  const child = start(program, args, { stdio: [stdin, stdout, 'pipe'], windowsHide: true })
  return follow(child, clock, { askToEnd: () => child.kill(), kill: () => child.kill('SIGKILL') })
}

function start(program: string, args: string[], options: SpawnOptions): ChildProcess {
  // We parse the messages of ssh, and the C library would translate error names.
  return spawn(program, args, { ...options, env: { ...childEnvironment(process.env), LC_ALL: 'C' } })
}

function follow(child: ChildProcess, clock: Clock, ends: { askToEnd(): void; kill(): void }): SshProcess {
  let stderr = ''
  let isOver = false
  const ended = new Promise<{ stderr: string; exitCode: number | null }>((resolve) => {
    const end = (exitCode: number | null) => {
      isOver = true
      resolve({ stderr, exitCode })
    }
    child.once('error', (error) => {
      stderr += error.message
      end((error as NodeJS.ErrnoException).code === 'ENOENT' ? EXIT_NOT_FOUND : null)
    })
    // A process that ssh left behind (a shared jump connection) can keep stderr open.
    child.once('exit', (exitCode) => void sleep(clock, STDERR_GRACE_MS).then(() => end(exitCode)))
    child.once('close', (exitCode) => end(exitCode))
  })
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARACTERS_MAX)
  })
  return {
    child,
    ended,
    hasEnded: () => isOver,
    stderr: () => stderr,
    forgetStderr: () => void (stderr = ''),
    async stop(): Promise<void> {
      ends.askToEnd()
      if (isOver) return
      const timer = clock.setTimer(KILL_AFTER_MS, ends.kill)
      await ended
      timer.cancel()
    }
  }
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}
