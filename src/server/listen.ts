import dns from 'node:dns/promises'
import { chmod, lstat, unlink } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Engine } from '../engine/index.ts'
import { type Clock, systemClock } from '../engine/runtime/clock.ts'
import { type App, type AppOptions, createApp } from './app.ts'
import { TIME_LIMITS } from './connections.ts'
import { recordService } from './service-file.ts'

export interface Service {
  /** `http://127.0.0.1:6800`: address for programs and browsers on this machine; `unix:PATH` if there is no TCP. */
  address: string
  /** A one-time login link, valid for ten minutes. */
  createLoginLink(): string
  /** Ends all browser sessions with their streams, and unused login links. Returns the number of sessions. */
  logOutEverywhere(): Promise<number>
  /** Resolves when all doors are loaded; until then a request to the contract waits. Rejects if that is impossible. */
  loaded: Promise<void>
  /** Rejects new requests and waits for open ones except event streams. The engine continues. Can be called twice. */
  stop(): Promise<void>
}

export interface ListenOptions extends Omit<AppOptions, 'engine' | 'port' | 'clock'> {
  engine: AppOptions['engine'] & Pick<Engine, 'setAddress'>
  /** 0: any free port; null: no TCP, only the socket. */
  port: number | null
  /** Also listens on this Unix socket, open to its user and group. */
  unixSocketPath?: string | null
  clock?: Clock
}

/** Requests still open after this are cut off, so that a stop always ends. */
const STOP_LIMIT_MS = 5_000

/** Whoever waits for the first answer gets it before the contract is loaded, which keeps the thread busy. */
const LOAD_CONTRACT_AFTER_MS = 20

/** Starts the HTTP server of an engine and tells the engine its address. Rejects if the port is not available. */
export async function listen(options: ListenOptions): Promise<Service> {
  const clock = options.clock ?? systemClock
  const { bindAddress, unixSocketPath = null } = options
  let port = options.port ?? 0
  const app = createApp({ ...options, clock, port: () => port })
  const { fastify, createLoginPath, answerOnSocket, logOutEverywhere, loadContract } = app
  const others: Server[] = []
  try {
    if (options.port === null) await fastify.ready()
    else {
      await fastify.listen({ host: bindAddress, port, listenTextResolver: () => '' })
      port = (fastify.server.address() as AddressInfo).port
      if (bindAddress === 'localhost') others.push(...(await listenOnOtherAddresses(app)))
    }
    if (unixSocketPath !== null) others.push(await listenOnSocket(unixSocketPath, answerOnSocket))
  } catch (error) {
    await Promise.all([fastify.close(), ...others.map(closeServer)])
    throw describeListenError(error, { bindAddress, port })
  }
  const address = options.port === null ? `unix:${unixSocketPath}` : `http://${reachableHost(bindAddress)}:${port}`
  options.engine.setAddress(address)
  const forgetService = await recordService(options.dataDirectory, address)

  const loaded = Promise.withResolvers<void>()
  const idle = setTimeout(() => loaded.resolve(loadContract()), LOAD_CONTRACT_AFTER_MS)
  let stopping: Promise<void> | null = null
  return {
    address,
    createLoginLink: () => `${address}${createLoginPath()}`,
    logOutEverywhere,
    loaded: loaded.promise,
    stop() {
      stopping ??= (async () => {
        clearTimeout(idle)
        forgetService()
        const limit = clock.setTimer(STOP_LIMIT_MS, () => {
          fastify.server.closeAllConnections()
          for (const server of others) server.closeAllConnections()
        })
        const othersClosed = others.map(closeServer)
        await fastify.close()
        await Promise.all(othersClosed)
        limit.cancel()
      })()
      return stopping
    }
  }
}

/** `localhost` can be an IPv4 and an IPv6 address: Node listens on the first. One that cannot be used is left out. */
async function listenOnOtherAddresses({ fastify, createServer: create }: App): Promise<Server[]> {
  const { address: first, port } = fastify.server.address() as AddressInfo
  const addresses = (await dns.lookup('localhost', { all: true })).map(({ address }) => address)
  const servers = addresses
    .filter((address) => address !== first)
    .map(async (address) => {
      const server = create()
      const isListening = new Promise<boolean>((resolve) => {
        server.once('error', () => resolve(false)).listen(port, address, () => resolve(true))
      })
      return (await isListening) ? [server] : []
    })
  return (await Promise.all(servers)).flat()
}

/**
 * Open to its user and group (660), like Scrapyd's. A socket that nobody listens on was left by a killed server and is
 * replaced. Anything else in its place is not ours to remove.
 */
async function listenOnSocket(path: string, answer: RequestListener): Promise<Server> {
  if ((await isSocket(path)) && !(await isAnswered(path))) await unlink(path)
  const server = createServer(TIME_LIMITS, answer)
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
    // Nothing is there: listening shows whether the socket can be created.
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

/** A server on all interfaces is reachable at the loopback address. */
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
