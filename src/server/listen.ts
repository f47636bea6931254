import { chmod, lstat, unlink } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Engine } from '../engine/index.ts'
import { type Clock, systemClock } from '../engine/runtime/clock.ts'
import { type AppOptions, createApp } from './app.ts'

export interface Service {
  /**
   * `http://127.0.0.1:6800`: where a program or a browser on this machine reaches it; `unix:PATH` where that is all.
   */
  address: string
  /** A link that logs one browser in, once, for ten minutes. */
  createLoginLink(): string
  /** Refuses new requests and waits for open ones (not for event streams); the engine goes on. May be called twice. */
  stop(): Promise<void>
}

export interface ListenOptions extends Omit<AppOptions, 'engine' | 'port' | 'clock'> {
  engine: AppOptions['engine'] & Pick<Engine, 'setAddress'>
  /** 0: any free port; null: no TCP, only the socket. */
  port: number | null
  /** Also listens on this Unix socket, for its user and group. */
  unixSocketPath?: string | null
  clock?: Clock
}

/** Requests that are still not answered then are cut off: a stop has an end. */
const STOP_LIMIT_MS = 5_000

/** Opens the HTTP door of an engine and tells the engine its address. Rejects when the port cannot be had. */
export async function listen(options: ListenOptions): Promise<Service> {
  const clock = options.clock ?? systemClock
  const { bindAddress, unixSocketPath = null } = options
  let port = options.port ?? 0
  const { fastify, createLoginPath, answerOnSocket } = createApp({ ...options, clock, port: () => port })
  let socketServer: Server | null = null
  try {
    if (options.port === null) await fastify.ready()
    else {
      await fastify.listen({ host: bindAddress, port, listenTextResolver: () => '' })
      port = (fastify.server.address() as AddressInfo).port
    }
    if (unixSocketPath !== null) socketServer = await listenOnSocket(unixSocketPath, answerOnSocket)
  } catch (error) {
    await fastify.close()
    throw describeListenError(error, { bindAddress, port })
  }
  const address = options.port === null ? `unix:${unixSocketPath}` : `http://${reachableHost(bindAddress)}:${port}`
  options.engine.setAddress(address)

  let stopping: Promise<void> | null = null
  return {
    address,
    createLoginLink: () => `${address}${createLoginPath()}`,
    stop() {
      stopping ??= (async () => {
        const limit = clock.setTimer(STOP_LIMIT_MS, () => {
          fastify.server.closeAllConnections()
          socketServer?.closeAllConnections()
        })
        const socketClosed = socketServer === null ? null : closeServer(socketServer)
        await fastify.close()
        await socketClosed
        limit.cancel()
      })()
      return stopping
    }
  }
}

/**
 * For its user and group (660), as Scrapyd's. A socket that nobody listens on any more is what a killed server left: it
 * is replaced. Anything else in its place is not ours to remove.
 */
async function listenOnSocket(path: string, answer: Parameters<typeof createServer>[1]): Promise<Server> {
  if ((await isSocket(path)) && !(await isAnswered(path))) await unlink(path)
  const server = createServer(answer)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another program listens there' : error.message
      reject(new Error(`The Unix socket ${path} cannot be opened: ${why}. Correct unix_socket_path.`, { cause: error }))
    })
    server.listen(path, resolve)
  })
  await chmod(path, 0o660)
  return server
}

async function isSocket(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSocket()
  } catch {
    // There is nothing: listening tells whether it can be made.
    return false
  }
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => resolve(true))
    socket.on('connect', () => socket.destroy())
    socket.on('error', () => resolve(false))
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
}

/** On all interfaces, this machine reaches it by the loopback address. */
function reachableHost(bindAddress: string): string {
  if (bindAddress === '0.0.0.0' || bindAddress === '') return '127.0.0.1'
  if (bindAddress === '::') return '[::1]'
  return bindAddress.includes(':') ? `[${bindAddress}]` : bindAddress
}

function describeListenError(error: unknown, { bindAddress, port }: { bindAddress: string; port: number }): Error {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    return new Error(
      `Port ${port} of ${bindAddress} is in use by another program. Stop it, or choose another with --port.`,
      { cause: error }
    )
  }
  if (code === 'EACCES') {
    return new Error(
      `Port ${port} of ${bindAddress} is not allowed to this user. Choose a port above 1023 with --port.`,
      {
        cause: error
      }
    )
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new Error(`${bindAddress} is not an address of this machine. Correct --bind.`, { cause: error })
  }
  return error as Error
}
