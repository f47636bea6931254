import { access, mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SshHost } from '../../../shared/ssh-address.ts'
import { say } from '../../../shared/texts/message.ts'
import { SaidError, saidOf } from '../../runtime/said-error.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { SshStreams } from './ssh-streams.ts'
import { sshArguments } from './ssh-arguments.ts'
import { problemOf, type SshProblem } from './ssh-problem.ts'
import { type SshProcess, startInGroup } from './ssh-process.ts'

export interface SshMaster {
  channels: Pick<SshStreams, 'open'>
  ended: Promise<SshProblem>
  stop(): Promise<void>
}

export class SshFailed extends SaidError {
  readonly problem: SshProblem

  constructor(problem: SshProblem) {
    super(problem.said)
    this.problem = problem
  }
}

/** Connects to a host. Rejects with SshFailed, or the reason of `signal`. */
export type StartMaster = (options: {
  program: string
  host: SshHost
  clock: Clock
  signal: AbortSignal
}) => Promise<SshMaster>

/** The time limit for connecting, long enough for a user to touch a hardware key. */
export const READY_WITHIN_MS = 40_000
const LOOK_EVERY_MS = 40

/**
 * Matches directories that can contain ssh's control socket: short, and without characters that ssh's configuration
 * would expand.
 */
const PLAIN_PATH = /^\/[\w./+-]{0,50}$/

/**
 * Starts ssh and waits until it accepts connections. No other program can use the tunnel, because only this user can
 * enter the directory of the control socket, and we remove the socket when we are connected.
 */
export const startMaster: StartMaster = async ({ program, host, clock, signal }) => {
  const place = PLAIN_PATH.test(tmpdir()) ? tmpdir() : '/tmp'
  const directory = await mkdtemp(join(place, 'scrapdeck-ssh-'))
  try {
    const controlPath = join(directory, 's')
    const child = startInGroup(program, sshArguments(host, { controlPath }), clock)
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
  child: SshProcess,
  { host, program }: { host: SshHost; program: string }
): Promise<SshMaster> {
  const channels = new SshStreams(socket)
  const ended = child.ended.then((end) => {
    const problem = problemOf(host, { ...end, isLate: false, program })
    channels.close(new SaidError(problem.said))
    return problem
  })
  // ssh is useless without the socket.
  socket.once('close', () => void child.stop())
  try {
    await channels.ready
  } catch (error) {
    await child.stop()
    const { ends, said } = await ended
    throw new SshFailed({ ends, said: say('ssh.client_unusable', { why: saidOf(error), end: said }) })
  }
  child.forgetStderr()
  return { channels, ended, stop: () => child.stop() }
}

/** null: ssh ended, was not ready in time, or `signal` was aborted. */
async function connectWhenReady(
  controlPath: string,
  { child, clock, signal }: { child: SshProcess; clock: Clock; signal: AbortSignal }
): Promise<Socket | null> {
  const untilMs = clock.monotonicMs() + READY_WITHIN_MS
  while (clock.monotonicMs() < untilMs && !signal.aborted && !child.hasEnded()) {
    // ssh creates the socket after it has logged in and accepts connections.
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
    // ssh has probably ended. Its stderr then contains the reason.
    socket.once('error', () => resolve(null))
  })
}
