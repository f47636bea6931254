import { Duplex, type Readable } from 'node:stream'
import { say } from '../../../shared/texts/message.ts'
import type { Clock } from '../../runtime/clock.ts'
import { SaidError } from '../../runtime/said-error.ts'
import { sleep } from '../../runtime/clock.ts'
import { ChannelRefused } from './ssh-streams.ts'
import { sshArguments } from './ssh-arguments.ts'
import { READY_WITHIN_MS, SshFailed, type SshMaster, type StartMaster } from './ssh-master.ts'
import { problemOf } from './ssh-problem.ts'
import { type SshProcess, startAlone } from './ssh-process.ts'

/** The maximum number of connections. Each one is a separate login. */
const CONNECTIONS_MAX = 64
const LOOK_EVERY_MS = 40

/**
 * Replaces startMaster where ssh has no control socket (OpenSSH for Windows). One ssh process only holds a login. When
 * it ends, the host is unreachable. Each connection is another ssh process with a separate login.
 */
export const startUnshared: StartMaster = async ({ program, host, clock, signal }) => {
  const problem = (end: Awaited<SshProcess['ended']>, isLate: boolean) => problemOf(host, { ...end, isLate, program })
  const login = startAlone(program, sshArguments(host, 'stays logged in'), clock, 'ignore')
  const isReady = await hasLogged(login, /Entering interactive session/, { clock, signal })
  if (!isReady) {
    const isLate = !login.hasEnded()
    await login.stop()
    signal.throwIfAborted()
    throw new SshFailed(problem(await login.ended, isLate))
  }
  login.forgetStderr()
  const connections = new Set<SshProcess>()
  const stopAll = () => Promise.all([...connections].map((one) => one.stop()))
  const ended = login.ended.then(async (end) => {
    await stopAll()
    return problem(end, false)
  })
  const open: SshMaster['channels']['open'] = async (to, port, aborted) => {
    if (connections.size >= CONNECTIONS_MAX) throw new ChannelRefused(4, `${CONNECTIONS_MAX} are open through it`)
    const target = `${to.includes(':') ? `[${to}]` : to}:${port}`
    const process = startAlone(program, sshArguments(host, { target }), clock, 'pipe')
    connections.add(process)
    void process.ended.then(() => connections.delete(process))
    const { child } = process
    // Without a listener, the output of ssh would be lost.
    child.stdout!.pause()
    if (await hasLogged(process, /open confirm rwindow/, { clock, signal: aborted })) {
      const stream = Duplex.from({ readable: child.stdout as Readable, writable: child.stdin! })
      // Callers add their own error listeners, but not immediately.
      stream.on('error', () => {})
      stream.once('close', () => void process.stop())
      return stream
    }
    await process.stop()
    aborted.throwIfAborted()
    throw refusalOf(process.stderr())
  }
  return {
    channels: { open },
    ended,
    async stop() {
      await login.stop()
      await stopAll()
    }
  }
}

/** Whether the line appeared before the process ended, `signal` was aborted or the time limit passed. */
async function hasLogged(
  process: SshProcess,
  line: RegExp,
  { clock, signal }: { clock: Clock; signal: AbortSignal }
): Promise<boolean> {
  const untilMs = clock.monotonicMs() + READY_WITHIN_MS
  while (clock.monotonicMs() < untilMs && !signal.aborted && !process.hasEnded()) {
    if (line.test(process.stderr())) return true
    await sleep(clock, LOOK_EVERY_MS, signal)
  }
  return false
}

function refusalOf(stderr: string): Error {
  const [, kind = '', text = ''] = /open failed: ([a-z ]+)(?:: ([^\r\n]*))?/.exec(stderr) ?? []
  if (kind !== '') return new ChannelRefused(kind.startsWith('administratively') ? 1 : 2, text || kind)
  return new SaidError(say('ssh.second_login_failed'), { code: 'SSH_DOWN' })
}
