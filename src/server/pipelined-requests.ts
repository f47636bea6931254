import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { overHttp2 } from './http2-requests.ts'

/** The maximum number of requests that wait on a connection. Clients that pipeline rarely exceed 16. */
const WAITING_MAX = 64

interface Connection {
  isBusy: boolean
  waiting: { request: IncomingMessage; response: ServerResponse }[]
  /** Whether too many requests were waiting. If so, the connection closes after their responses. */
  isClosing: boolean
}

/**
 * Handles the requests of a connection one after the other, one per turn of the event loop. Node emits all requests in
 * a packet together, and a thousand in one turn would block all other clients.
 */
export class PipelinedRequests {
  readonly #handle: RequestListener
  readonly #connections = new WeakMap<Socket, Connection>()
  /** HTTP/2 requests that arrived in the same turn of the event loop as an earlier request. */
  readonly #starting = new WeakMap<Socket, { request: IncomingMessage; response: ServerResponse }[]>()

  constructor(handle: RequestListener) {
    this.#handle = handle
  }

  receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    if (overHttp2(request) !== null) return this.#receiveStream(socket, request, response)
    let connection = this.#connections.get(socket)
    if (connection === undefined) {
      connection = { isBusy: false, waiting: [], isClosing: false }
      this.#connections.set(socket, connection)
    }
    if (connection.isClosing) return
    if (!connection.isBusy) this.#begin(connection, request, response)
    else if (connection.waiting.length < WAITING_MAX) connection.waiting.push({ request, response })
    else refuseMore(connection, socket, response)
  }

  /** HTTP/2 requests do not wait for each other's responses. The server's settings limit how many can be open. */
  #receiveStream(socket: Socket, request: IncomingMessage, response: ServerResponse): void {
    const starting = this.#starting.get(socket)
    if (starting !== undefined) {
      starting.push({ request, response })
      return
    }
    this.#starting.set(socket, [])
    this.#handle(request, response)
    setImmediate(() => this.#startNext(socket))
  }

  #startNext(socket: Socket): void {
    const next = this.#starting.get(socket)?.shift()
    if (next === undefined) {
      this.#starting.delete(socket)
      return
    }
    if (overHttp2(next.request)?.stream.destroyed === false) this.#handle(next.request, next.response)
    setImmediate(() => this.#startNext(socket))
  }

  #begin(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.isBusy = true
    response.once('close', () => this.#continue(connection, request.socket))
    this.#handle(request, response)
  }

  #continue(connection: Connection, socket: Socket): void {
    if (connection.waiting.length === 0) connection.isBusy = false
    else setImmediate(() => this.#beginNext(connection, socket))
  }

  #beginNext(connection: Connection, socket: Socket): void {
    // The last response closed the connection, so no other response can be sent.
    if (socket.destroyed || socket.writableEnded) {
      connection.waiting = []
      return
    }
    const { request, response } = connection.waiting.shift()!
    this.#begin(connection, request, response)
  }
}

function refuseMore(connection: Connection, socket: Socket, response: ServerResponse): void {
  connection.isClosing = true
  response.writeHead(429, { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1', connection: 'close' })
  response.end(`Too many requests wait for an answer on this connection: send at most ${WAITING_MAX} ahead.\n`)
  // The parser resumes the connection in a tick, so pause after that, but before Node reads the next packet.
  queueMicrotask(() => socket.pause())
}
