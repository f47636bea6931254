import type { Duplex } from 'node:stream'
import type { NodeTunnel } from '../../../shared/contract/index.ts'
import { nameOfSshHost, type SshHost } from '../../../shared/ssh-address.ts'
import { type Message, render, say, writtenIfAny } from '../../../shared/texts/message.ts'
import { SaidError } from '../../runtime/said-error.ts'
import { type Clock, type Timer, unlessAborted } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Random } from '../../runtime/random.ts'
import { retryDelayMs, type SshProblem } from './ssh-problem.ts'
import { SshFailed, type SshMaster } from './ssh-master.ts'

/** There is no connection to the SSH host. The message is phrased to follow "cannot be reached: ". */
export class TunnelDown extends SaidError {
  readonly code = 'SSH_DOWN'
}

export interface TunnelParts {
  host: SshHost
  clock: Clock
  random: Pick<Random, 'next'>
  logger: Logger
  /** Rejects with SshFailed. */
  start: (host: SshHost, signal: AbortSignal) => Promise<SshMaster>
}

/** How long a connection must last to end a series of failures. */
const STABLE_MS = 30_000

type State =
  | { name: 'connecting'; attempt: Promise<void> }
  | { name: 'up'; master: SshMaster; sinceMonotonicMs: number }
  | { name: 'down'; retryAtMs: number; timer: Timer }
  | { name: 'stopped' }

/**
 * The connection to one SSH host, shared by all nodes behind it:
 *
 *   down (with increasing retry delays) → connecting → up → down …
 *
 * Requests wait for the first attempt. Later, while the connection is not up, they fail immediately with the
 * latest problem.
 */
export class Tunnel {
  readonly #parts: TunnelParts
  readonly #name: string
  readonly #stopping = new AbortController()
  readonly #listeners = new Set<() => void>()
  #state: State = { name: 'stopped' }
  #sinceMs: number
  #problem: SshProblem | null = null
  #failures = 0

  constructor(parts: TunnelParts) {
    this.#parts = parts
    this.#name = nameOfSshHost(parts.host)
    this.#sinceMs = parts.clock.nowMs()
    this.#connect()
  }

  status(): NodeTunnel {
    const { name } = this.#state
    const retryAtMs = this.#state.name === 'down' ? this.#state.retryAtMs : null
    const state = name === 'stopped' ? 'down' : name
    return {
      host: this.#name,
      state,
      sinceMs: this.#sinceMs,
      retryAtMs,
      ...writtenIfAny('problem', this.#problem?.said ?? null)
    }
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Why requests wait. null: they do not wait. */
  whyWaiting(): Message | null {
    if (this.#state.name !== 'connecting' || this.#problem !== null) return null
    return say('ssh.connecting', { host: this.#name })
  }

  /** Opens a TCP connection from the SSH host. Rejects with TunnelDown, ChannelRefused, or the reason of `signal`. */
  async open(host: string, port: number, signal: AbortSignal): Promise<Duplex> {
    // Timers stop while a computer sleeps. The first request after that need not wait for the retry timer.
    if (this.#state.name === 'down' && this.#parts.clock.nowMs() >= this.#state.retryAtMs) this.#connect()
    await this.settled(signal)
    if (this.#state.name === 'up') return this.#state.master.channels.open(host, port, signal)
    throw new TunnelDown(this.#problem?.said ?? say('ssh.stopped', { host: this.#name }))
  }

  /** Resolves when the first attempt has succeeded or failed. Rejects with the reason of `signal`. */
  async settled(signal: AbortSignal): Promise<void> {
    if (this.#state.name !== 'connecting' || this.#problem !== null) return
    signal.throwIfAborted()
    await unlessAborted(signal, this.#state.attempt)
  }

  retryNow(): void {
    if (this.#state.name !== 'down') return
    this.#problem = null
    this.#connect()
  }

  async stop(): Promise<void> {
    const state = this.#state
    if (state.name === 'stopped') return
    this.#state = { name: 'stopped' }
    this.#stopping.abort(new TunnelDown(say('ssh.stopped', { host: this.#name })))
    if (state.name === 'down') state.timer.cancel()
    if (state.name === 'connecting') await state.attempt
    if (state.name === 'up') await state.master.stop()
  }

  #connect(): void {
    if (this.#state.name === 'down') this.#state.timer.cancel()
    const attempt = this.#attempt()
    this.#become({ name: 'connecting', attempt })
  }

  async #attempt(): Promise<void> {
    const { host, start, clock, logger } = this.#parts
    try {
      const master = await start(host, this.#stopping.signal)
      if (this.#stopping.signal.aborted) return await master.stop()
      this.#problem = null
      this.#become({ name: 'up', master, sinceMonotonicMs: clock.monotonicMs() })
      logger.info({ sshHost: this.#name }, 'connected to an SSH host')
      void master.ended.then((problem) => this.#lost(problem))
    } catch (error) {
      if (this.#stopping.signal.aborted) return
      this.#failed(error instanceof SshFailed ? error.problem : unexpected(error, this.#name))
    }
  }

  #lost(problem: SshProblem): void {
    if (this.#state.name !== 'up') return
    const lastedMs = this.#parts.clock.monotonicMs() - this.#state.sinceMonotonicMs
    if (lastedMs >= STABLE_MS) this.#failures = 0
    this.#failed(problem)
  }

  #failed(problem: SshProblem): void {
    const { clock, random, logger } = this.#parts
    this.#failures += 1
    const text = render(problem.said)
    if (this.#problem === null || render(this.#problem.said) !== text)
      logger.warn({ sshHost: this.#name, problem: text }, 'no SSH connection')
    this.#problem = problem
    const waitMs = retryDelayMs(problem.ends, this.#failures, random.next())
    const timer = clock.setTimer(waitMs, () => this.#connect())
    this.#become({ name: 'down', retryAtMs: clock.nowMs() + waitMs, timer })
  }

  #become(state: State): void {
    // During retries, the connection has been down since the first failure.
    const wasUp = this.#state.name === 'up' || this.#state.name === 'stopped'
    if (state.name === 'up' || wasUp) this.#sinceMs = this.#parts.clock.nowMs()
    this.#state = state
    for (const listener of this.#listeners) listener()
  }
}

function unexpected(error: unknown, name: string): SshProblem {
  const why = error instanceof Error ? error.message.slice(0, 200) : 'unknown error'
  return { ends: 'by itself', said: say('ssh.not_started', { host: name, why }) }
}
