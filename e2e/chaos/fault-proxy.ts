import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../../src/engine/runtime/random.ts'
import { freePort } from '../support/scrapyd-fleet.ts'

/** `up` is from Scrapdeck to the node, `down` from the node to Scrapdeck. */
export type Direction = 'up' | 'down'

export type Fault =
  /** Delays each chunk by `delayMs` ± `jitterMs`. */
  | { kind: 'latency'; direction: Direction; delayMs: number; jitterMs: number }
  /** The proxy passes `afterBytes` bytes on, then resets both sides. */
  | { kind: 'reset'; direction: Direction; afterBytes: number }
  /** The proxy accepts connections but forwards nothing. Data sent during the fault is lost. */
  | { kind: 'black_hole'; direction: Direction }
  /** The proxy passes on half of the node's response, then closes the connection. */
  | { kind: 'half_reply' }
  | { kind: 'slicer'; direction: Direction; sliceBytes: number; delayMs: number }
  /** Holds a POST until the fault ends, even if its sender has given up. All other requests pass. */
  | { kind: 'late' }
  /** The proxy refuses new connections and resets open ones. */
  | { kind: 'down' }

export type FaultKind = Fault['kind']
export const FAULT_KINDS: FaultKind[] = ['latency', 'reset', 'black_hole', 'half_reply', 'slicer', 'late', 'down']

/**
 * A TCP proxy in front of one node, with faults like those of toxiproxy. Reports each request that reached the node
 * to `onRequest`.
 */
export class FaultProxy {
  readonly #targetPort: number
  readonly #random: Random
  readonly #links = new Set<Link>()
  readonly #onRequest: (requestLine: string) => void
  #server: net.Server | null = null
  #fault: Fault | null = null
  #isNodeAway = false
  #port = 0
  #hits = new Set<Link>()
  #refused = 0

  constructor(options: { targetPort: number; random: Random; onRequest?: (requestLine: string) => void }) {
    this.#targetPort = options.targetPort
    this.#random = options.random
    this.#onRequest = options.onRequest ?? (() => {})
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`
  }

  async start(): Promise<void> {
    this.#port = await freePort()
    await this.#listen()
  }

  async apply(fault: Fault): Promise<void> {
    this.#fault = fault
    this.#hits = new Set()
    this.#refused = 0
    if (fault.kind === 'down') await this.#shut()
  }

  get isHolding(): boolean {
    return this.#fault?.kind === 'late' && this.#hits.size > 0
  }

  /**
   * The number of connections that the current fault affected. `down` counts as 1, because refused connections are
   * invisible.
   */
  get hits(): number {
    return this.#hits.size + this.#refused
  }

  async clear(): Promise<void> {
    const fault = this.#fault
    this.#fault = null
    if (fault?.kind === 'late') for (const link of this.#hits) link.release()
    // These connections lost bytes in the middle, so they cannot continue.
    if (fault?.kind === 'black_hole') for (const link of this.#hits) link.reset()
    if (!this.#isNodeAway) await this.#listen()
  }

  /** While the machine behind the proxy is away, the proxy refuses connections, whatever the current fault. */
  async setNodeAway(isAway: boolean): Promise<void> {
    this.#isNodeAway = isAway
    if (isAway) await this.#shut()
    else if (this.#fault?.kind !== 'down') await this.#listen()
  }

  async stop(): Promise<void> {
    this.#fault = null
    await this.#shut()
  }

  async #listen(): Promise<void> {
    if (this.#server !== null) return
    const server = net.createServer({ allowHalfOpen: true }, (socket) => this.#take(socket))
    this.#server = server
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
  }

  async #shut(): Promise<void> {
    const server = this.#server
    this.#server = null
    if (server === null) return
    this.#refused += 1
    const closed = once(server, 'close')
    server.close()
    for (const link of this.#links) link.reset()
    await closed
  }

  #take(client: net.Socket): void {
    const link = new Link({
      client,
      targetPort: this.#targetPort,
      random: this.#random,
      faultNow: () => this.#fault,
      noteHit: () => this.#hits.add(link),
      onRequest: this.#onRequest,
      onClosed: () => this.#links.delete(link)
    })
    this.#links.add(link)
  }
}

interface LinkOptions {
  client: net.Socket
  targetPort: number
  random: Random
  faultNow: () => Fault | null
  noteHit: () => void
  onRequest: (requestLine: string) => void
  onClosed: () => void
}

class Link {
  readonly #options: LinkOptions
  readonly #client: net.Socket
  readonly #node: net.Socket
  readonly #onTheWay: Record<Direction, Promise<unknown>> = { up: Promise.resolve(), down: Promise.resolve() }
  readonly #released = Promise.withResolvers<void>()
  #passedBytes = 0

  constructor(options: LinkOptions) {
    this.#options = options
    this.#client = options.client
    // Half-open, because the proxy passes the end of one direction on only after the data before it.
    this.#node = net.connect({ port: options.targetPort, host: '127.0.0.1', allowHalfOpen: true })
    this.#wire(this.#client, 'up', this.#node)
    this.#wire(this.#node, 'down', this.#client)
  }

  release(): void {
    this.#released.resolve()
  }

  reset(): void {
    this.#released.resolve()
    for (const socket of [this.#client, this.#node]) {
      if (socket.connecting) socket.destroy()
      else if (!socket.destroyed) socket.resetAndDestroy()
    }
  }

  #wire(from: net.Socket, direction: Direction, to: net.Socket): void {
    from.setNoDelay(true)
    from.on('data', (piece) => {
      if (direction === 'up') this.#noteRequest(piece)
      this.#then(direction, () => this.#carry(piece, direction, to))
    })
    from.on('end', () => this.#then(direction, () => this.#passEnd(direction, to)))
    from.on('error', () => this.#then(direction, () => this.#passEnd(direction, to)))
    from.on('close', () => {
      this.#then(direction, () => this.#passEnd(direction, to))
      if (this.#client.destroyed && this.#node.destroyed) this.#options.onClosed()
    })
  }

  #then(direction: Direction, work: () => Promise<void> | void): void {
    this.#onTheWay[direction] = this.#onTheWay[direction].then(work).catch(() => this.reset())
  }

  /** Delivers the remaining bytes in this direction, then the end. Treats an error like a normal end. */
  #passEnd(direction: Direction, to: net.Socket): void {
    const fault = this.#options.faultNow()
    if (fault?.kind === 'black_hole' && fault.direction === direction) {
      this.#options.noteHit()
      return
    }
    if (to.connecting) to.destroy()
    else to.end()
    // The client can no longer read the response.
    if (direction === 'down') this.#node.destroy()
  }

  #noteRequest(piece: Buffer): void {
    const line = requestLine(piece)
    if (line !== null) this.#options.onRequest(line)
  }

  async #carry(piece: Buffer, direction: Direction, to: net.Socket): Promise<void> {
    const fault = this.#options.faultNow()
    if (fault === null || ('direction' in fault && fault.direction !== direction)) return this.#write(to, piece)
    switch (fault.kind) {
      case 'latency':
        this.#options.noteHit()
        await delay(Math.max(0, fault.delayMs + (this.#options.random.next() * 2 - 1) * fault.jitterMs))
        return this.#write(to, piece)
      case 'reset': {
        this.#options.noteHit()
        const rest = fault.afterBytes - this.#passedBytes
        this.#passedBytes += piece.length
        if (rest > 0) await this.#write(to, piece.subarray(0, rest))
        if (piece.length >= rest) this.reset()
        return
      }
      case 'black_hole':
        this.#options.noteHit()
        return
      case 'half_reply':
        if (direction === 'up') return this.#write(to, piece)
        this.#options.noteHit()
        await this.#write(to, piece.subarray(0, Math.floor(piece.length / 2)))
        this.#client.end()
        this.#node.destroy()
        return
      case 'slicer':
        this.#options.noteHit()
        for (let at = 0; at < piece.length; at += fault.sliceBytes) {
          await this.#write(to, piece.subarray(at, at + fault.sliceBytes))
          // A whole egg in slices would take minutes, so the remaining slices are sent without delays after the fault
          // ends.
          if (this.#options.faultNow() === fault) await delay(fault.delayMs)
        }
        return
      case 'late':
        if (direction === 'up' && requestLine(piece)?.startsWith('POST')) {
          this.#options.noteHit()
          await this.#released.promise
        }
        return this.#write(to, piece)
      case 'down':
        return this.reset()
    }
  }

  async #write(to: net.Socket, piece: Buffer): Promise<void> {
    if (piece.length === 0 || to.destroyed || !to.writable) return
    if (!to.write(piece)) await Promise.race([once(to, 'drain'), once(to, 'close')])
  }
}

function requestLine(piece: Buffer): string | null {
  return /^(?:GET|POST|OPTIONS|HEAD) \S+/.exec(piece.toString('latin1', 0, 200))?.[0] ?? null
}
