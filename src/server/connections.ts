import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerOptions } from 'node:http'
import type { Server, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { clientOf, plainAddress, AddressList } from './auth/client-address.ts'
import {
  type ConnectionLimits,
  DEFAULT_CONNECTION_LIMITS,
  HEADERS_LIMIT_MS,
  KEEP_ALIVE_MS,
  REQUEST_LIMIT_MS
} from './limits.ts'

export interface ClosableServer extends Server {
  closeIdleConnections(): void
  closeAllConnections(): void
}

/** The time limits of every server. A client that does not send what it announced is disconnected. */
export const TIME_LIMITS = {
  requestTimeout: REQUEST_LIMIT_MS,
  headersTimeout: HEADERS_LIMIT_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionsCheckingInterval: 2_000
} satisfies ServerOptions

/**
 * Limits connections per address and in total. Beyond a limit, closes the oldest connection without valid credentials.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  readonly #unlimited: AddressList
  readonly #open = new Map<Socket, { client: string; peer: string }>()
  /** With TLS, requests come from a second socket on top of the first. Both sockets have the same peer. */
  readonly #byPeer = new Map<string, Socket>()
  /** Connections that have not sent valid credentials, oldest first. */
  readonly #strangers = new Set<Socket>()
  readonly #byClient = new Map<string, { count: number; strangers: Set<Socket> }>()

  constructor(options: { limits: ConnectionLimits; trustedProxies: readonly string[] }) {
    this.#limits = { ...options.limits, total: Math.min(options.limits.total, Math.floor(openFilesLimit() / 2)) }
    this.#unlimited = new AddressList(['127.0.0.0/8', '::1', ...options.trustedProxies])
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket))
  }

  trust(given: Socket): void {
    const socket = this.#open.has(given) ? given : this.#byPeer.get(peerOf(given))
    if (socket === undefined || !this.#strangers.delete(socket)) return
    this.#byClient.get(this.#open.get(socket)!.client)?.strangers.delete(socket)
  }

  #add(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress ?? '')
    const client = clientOf(address)
    const ofClient = this.#byClient.get(client) ?? { count: 0, strangers: new Set() }
    const isFull = ofClient.count >= this.#limits.perAddress && !this.#unlimited.has(address)
    const hasRoom =
      (!isFull || this.#drop(ofClient.strangers)) &&
      (this.#open.size < this.#limits.total || this.#drop(this.#strangers))
    if (!hasRoom) {
      socket.destroy()
      return
    }
    this.#byClient.set(client, ofClient)
    ofClient.count += 1
    ofClient.strangers.add(socket)
    const peer = peerOf(socket)
    this.#open.set(socket, { client, peer })
    this.#byPeer.set(peer, socket)
    this.#strangers.add(socket)
    socket.once('close', () => this.#remove(socket))
  }

  #drop(strangers: Set<Socket>): boolean {
    const oldest = strangers.values().next().value
    if (oldest === undefined) return false
    // Remove the connection now. Otherwise, it would count until its `close` event.
    this.#remove(oldest)
    oldest.destroy()
    return true
  }

  #remove(socket: Socket): void {
    const opened = this.#open.get(socket)
    if (opened === undefined) return
    const { client, peer } = opened
    this.#open.delete(socket)
    if (this.#byPeer.get(peer) === socket) this.#byPeer.delete(peer)
    this.#strangers.delete(socket)
    const ofClient = this.#byClient.get(client)!
    ofClient.count -= 1
    ofClient.strangers.delete(socket)
    if (ofClient.count === 0) this.#byClient.delete(client)
  }
}

/** Whether this process itself decrypts the request's TLS. */
export const isEncrypted = ({ socket }: IncomingMessage): boolean => (socket as Partial<TLSSocket>).encrypted === true

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

export function openConnections(options: {
  connectionLimits?: Partial<ConnectionLimits> | undefined
  trustedProxies?: readonly string[] | undefined
}): Connections {
  const { connectionLimits, trustedProxies = [] } = options
  return new Connections({ limits: { ...DEFAULT_CONNECTION_LIMITS, ...connectionLimits }, trustedProxies })
}

/**
 * Returns the process's open-file limit. Connections can use only half of it, because files and connections to nodes
 * also need descriptors.
 */
function openFilesLimit(): number {
  try {
    // Node raises its soft limit to the hard limit.
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files +\S+ +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    // Only Linux has this file.
    return Number.POSITIVE_INFINITY
  }
}
