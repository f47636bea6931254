import pLimit from 'p-limit'
import { nameOfSshHost, type SshHost } from '../../../shared/ssh-address.ts'
import { type Message, say, writtenAs } from '../../../shared/texts/message.ts'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Random } from '../../runtime/random.ts'
import { type StartMaster, startMaster } from './ssh-master.ts'
import { startUnshared } from './ssh-unshared.ts'
import { Tunnel, TunnelDown, type TunnelParts } from './tunnel.ts'

/** A node's use of the connection to its SSH host. The connection remains until all uses are released. */
export type TunnelUse = Pick<Tunnel, 'open' | 'status' | 'watch' | 'whyWaiting' | 'settled' | 'retryNow'> & {
  release(): void
}

/**
 * The maximum number of parallel logins. Each connection is a process and a login. 200 nodes behind 20 hosts log in
 * 20 times.
 */
const CONNECTING_AT_ONCE = 16
const HOSTS_MAX = 500
/** An unused connection remains open for this long, so that a probe and the node added after it share a connection. */
const KEPT_MS = 15_000

/** The connections to SSH hosts, one per user, host and port. */
export class SshTunnels {
  readonly #parts: Omit<TunnelParts, 'host' | 'start'> & { program: string }
  readonly #startMaster: StartMaster
  readonly #inTurn = pLimit(CONNECTING_AT_ONCE)
  readonly #entries = new Map<string, { tunnel: Tunnel; uses: number; leaving: Timer | null }>()
  readonly #closing = new Set<Promise<void>>()
  #isStopped = false

  constructor(parts: {
    program: string
    clock: Clock
    random: Pick<Random, 'next'>
    logger: Logger
    startMaster?: StartMaster
  }) {
    this.#parts = parts
    // OpenSSH for Windows has no control sockets.
    this.#startMaster = parts.startMaster ?? (process.platform === 'win32' ? startUnshared : startMaster)
  }

  /** Connects, unless a connection to that host exists. */
  use(host: SshHost): TunnelUse {
    const key = nameOfSshHost(host)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      if (this.#isStopped) return without(key, say('ssh.scrapdeck_stopping'))
      if (this.#entries.size >= HOSTS_MAX) return without(key, say('ssh.too_many_hosts', { most: HOSTS_MAX }))
      entry = { tunnel: this.#open(host), uses: 0, leaving: null }
      this.#entries.set(key, entry)
    }
    const { tunnel } = entry
    entry.uses += 1
    entry.leaving?.cancel()
    let isReleased = false
    return {
      open: (...to) => tunnel.open(...to),
      status: () => tunnel.status(),
      watch: (listener) => tunnel.watch(listener),
      whyWaiting: () => tunnel.whyWaiting(),
      settled: (signal) => tunnel.settled(signal),
      retryNow: () => tunnel.retryNow(),
      release: () => {
        if (isReleased) return
        isReleased = true
        this.#release(key, entry)
      }
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const [key, entry] of this.#entries) this.#close(key, entry)
    await Promise.all(this.#closing)
  }

  #open(host: SshHost): Tunnel {
    const { program, clock } = this.#parts
    const start: TunnelParts['start'] = (to, signal) =>
      this.#inTurn(() => this.#startMaster({ program, host: to, clock, signal }))
    return new Tunnel({ ...this.#parts, host, start })
  }

  #release(key: string, entry: { tunnel: Tunnel; uses: number; leaving: Timer | null }): void {
    entry.uses -= 1
    if (entry.uses > 0 || this.#entries.get(key) !== entry) return
    entry.leaving = this.#parts.clock.setTimer(KEPT_MS, () => this.#close(key, entry))
  }

  #close(key: string, entry: { tunnel: Tunnel; leaving: Timer | null }): void {
    entry.leaving?.cancel()
    this.#entries.delete(key)
    const closing = entry.tunnel.stop().finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}

function without(host: string, problem: Message): TunnelUse {
  return {
    open: () => Promise.reject(new TunnelDown(problem)),
    status: () => ({ host, state: 'down', sinceMs: 0, retryAtMs: null, ...writtenAs('problem', problem) }),
    watch: () => () => {},
    whyWaiting: () => null,
    settled: async () => {},
    retryNow: () => {},
    release: () => {}
  }
}
