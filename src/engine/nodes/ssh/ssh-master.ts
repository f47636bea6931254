import { type ChildProcess, spawn } from 'node:child_process'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SshHost } from '../../../shared/ssh-address.ts'
import { childEnvironment } from '../../launcher/processes/child-environment.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { SshChannels } from './channels.ts'
import { sshArguments } from './ssh-arguments.ts'
import { problemOf, type SshProblem } from './ssh-problem.ts'

/** One `ssh` with its connection to a host. */
export interface SshMaster {
  channels: Pick<SshChannels, 'open'>
  /** Resolves when the connection is gone, with the reason. */
  ended: Promise<SshProblem>
  stop(): Promise<void>
}

/** No connection to the host. */
export class SshFailed extends Error {
  readonly problem: SshProblem

  constructor(problem: SshProblem) {
    super(problem.text)
    this.problem = problem
  }
}

/** Long enough for somebody to touch a hardware key. */
const READY_WITHIN_MS = 40_000
const LOOK_EVERY_MS = 40
const STDERR_CHARACTERS_MAX = 16_000
const KILL_AFTER_MS = 2_000

/**
 * Runs ssh in a process group of its own, whose members end together when our end of the pipe on fd 3 closes: with
 * `stop`, and with this process, however it ends. dash, bash and zsh agree on all of it.
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

/** Its OpenSSH has no control sockets, and it has neither /bin/sh nor process groups. */
const ON_WINDOWS: SshProblem = {
  ends: 'by hand',
  text: 'OpenSSH for Windows cannot share a connection, so nodes over SSH do not work there. Run Scrapdeck in WSL or on Linux or macOS, or let this node pull its jobs.'
}

/** Where ssh can put its control socket: a short path, without what its configuration would expand. */
const PLAIN_PATH = /^\/[\w./+-]{0,50}$/

/**
 * Starts an ssh and waits until connections can be opened through it. Its control socket is in a directory that only
 * this user can enter, and is removed as soon as we are connected to it: nobody else can use the tunnel. Rejects with
 * SshFailed, or the reason of `signal`.
 */
export async function startMaster(options: {
  program: string
  host: SshHost
  clock: Clock
  signal: AbortSignal
}): Promise<SshMaster> {
  if (process.platform === 'win32') throw new SshFailed(ON_WINDOWS)
  const { program, host, clock, signal } = options
  const place = PLAIN_PATH.test(tmpdir()) ? tmpdir() : '/tmp'
  const directory = await mkdtemp(join(place, 'scrapdeck-ssh-'))
  try {
    const controlPath = join(directory, 's')
    const child = startProcess(program, sshArguments(host, controlPath), clock)
    try {
      const socket = await connectWhenReady(controlPath, { child, clock, signal })
      if (socket === null) {
        const isLate = !child.hasEnded()
        await child.stop()
        signal.throwIfAborted()
        throw new SshFailed(problemOf(host, { ...(await child.ended), isLate, program }))
      }
      return await masterOf(socket, child, { host, program })
    } catch (error) {
      await child.stop()
      throw error
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function masterOf(
  socket: Socket,
  child: ReturnType<typeof startProcess>,
  { host, program }: { host: SshHost; program: string }
): Promise<SshMaster> {
  const channels = new SshChannels(socket)
  const ended = child.ended.then((end) => {
    const problem = problemOf(host, { ...end, isLate: false, program })
    channels.close(new Error(problem.text))
    return problem
  })
  // Without its socket it is of no use.
  socket.once('close', () => void child.stop())
  try {
    await channels.ready
  } catch (error) {
    await child.stop()
    const { ends, text } = await ended
    const why = error instanceof Error ? error.message : text
    throw new SshFailed({ ends, text: `the SSH client of this machine cannot be used: ${why}. ${text}` })
  }
  return { channels, ended, stop: () => child.stop() }
}

/** null: it ended, was not ready in time, or `signal` was aborted. */
async function connectWhenReady(
  controlPath: string,
  { child, clock, signal }: { child: ReturnType<typeof startProcess>; clock: Clock; signal: AbortSignal }
): Promise<Socket | null> {
  const untilMs = clock.monotonicMs() + READY_WITHIN_MS
  while (clock.monotonicMs() < untilMs && !signal.aborted && !child.hasEnded()) {
    // ssh puts it there once it is logged in and accepts connections.
    const isThere = await access(controlPath).then(
      () => true,
      () => false
    )
    if (isThere) return connectTo(controlPath)
    await sleep(clock, LOOK_EVERY_MS, signal)
  }
  return null
}

function connectTo(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(socket))
    // It has ended since: its stderr says why.
    socket.once('error', () => resolve(null))
  })
}

function startProcess(program: string, args: string[], clock: Clock) {
  let stderr = ''
  let isOver = false
  const child: ChildProcess = spawn('/bin/sh', ['-c', GROUP, 'sh', program, ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
    // Its messages are read; the names of errors come from the C library.
    env: { ...childEnvironment(process.env), LC_ALL: 'C' }
  })
  const ended = new Promise<{ stderr: string; exitCode: number | null }>((resolve) => {
    const end = (exitCode: number | null) => {
      isOver = true
      resolve({ stderr, exitCode })
    }
    child.once('error', (error) => {
      stderr += error.message
      end(null)
    })
    // A process that it left behind (a shared jump connection) may keep stderr open: what was written is read by then.
    child.once('exit', (exitCode) => void sleep(clock, STDERR_GRACE_MS).then(() => end(exitCode)))
    child.once('close', (exitCode) => end(exitCode))
  })
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARACTERS_MAX)
  })
  child.stdin!.on('error', () => {
    // The group is ending anyway.
  })
  return {
    ended,
    hasEnded: () => isOver,
    async stop(): Promise<void> {
      child.stdin!.end()
      if (isOver) return
      const timer = clock.setTimer(KILL_AFTER_MS, () => killGroup(child))
      await ended
      timer.cancel()
    }
  }
}

const STDERR_GRACE_MS = 200

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
