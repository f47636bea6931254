import dns from 'node:dns/promises'
import { chmod, lstat, unlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { CertificateFiles } from './certificate-files.ts'
import { type ClosableServer, type Connections, TIME_LIMITS } from './connections.ts'
import { createRedirectServer } from './https-redirect.ts'

export interface RequestHandler {
  handle: RequestListener
  /** Handles requests on the Unix socket. File permissions control who can connect, and no web page can. */
  handleOnSocket: RequestListener
}

export interface Front {
  /** 0 if the service does not listen on TCP. */
  port: number
  /**
   * The address for programs on this machine: `http://127.0.0.1:6800`, `https://127.0.0.1:6800`, or `unix:PATH` without
   * TCP.
   */
  address: string
  /** The port that redirects plain HTTP to HTTPS, or null if there is none. */
  redirectPort: number | null
  handleWith(handler: RequestHandler): void
  /** Sets a handler for some TCP requests, which takes precedence over `handleWith`. */
  handleBefore(isFor: (request: IncomingMessage) => boolean, handle: RequestListener): void
  /** Stops accepting connections. Resolves when all open requests are complete. */
  close(): Promise<void>
  closeAllConnections(): void
}

export interface FrontOptions {
  bindAddress: string
  /** 0: any free port; null: only the Unix socket, without TCP. */
  port: number | null
  /** Also listens on this Unix socket, which its user and group can open. */
  unixSocketPath?: string | null
  /** If set, TCP uses only TLS. The Unix socket needs none. */
  certificate?: CertificateFiles | null | undefined
  /** If set together with a certificate, plain HTTP on this port redirects to HTTPS. 0 for any free port. */
  redirectPort?: number | null | undefined
  allowedHosts: string[]
}

/** If one of the sockets is not available, closes the others and rejects. */
export async function openFront(
  options: FrontOptions,
  first: RequestHandler,
  connections: Connections
): Promise<Front> {
  const { bindAddress, unixSocketPath = null, certificate = null } = options
  let current = first
  let before: { isFor: (request: IncomingMessage) => boolean; handle: RequestListener } | null = null
  let port = options.port ?? 0
  const servers: ClosableServer[] = []
  const createTlsServer = certificate === null ? null : (await import('./http2-server.ts')).createTlsServer
  const openServer = () => {
    const handle: RequestListener = (request, response) =>
      (before?.isFor(request) === true ? before : current).handle(request, response)
    const server = createTlsServer === null ? createServer(TIME_LIMITS, handle) : createTlsServer(certificate!, handle)
    connections.watch(server)
    servers.push(server)
    return server
  }
  let redirectPort: number | null = null
  const openRedirect = () => {
    const ports = { port: () => redirectPort ?? 0, httpsPort: () => port }
    const server = createRedirectServer({ bindAddress, allowedHosts: options.allowedHosts, ...ports })
    connections.watch(server)
    servers.push(server)
    return server
  }
  try {
    if (options.port !== null) {
      const { address, port: given } = await listenOn(openServer(), { host: bindAddress, port })
      port = given
      if (bindAddress === 'localhost') await listenOnOtherAddresses({ address, port }, openServer)
      const wanted = options.redirectPort ?? null
      if (certificate !== null && wanted !== null) {
        redirectPort = wanted
        const first = await listenOn(openRedirect(), { host: bindAddress, port: wanted })
        redirectPort = first.port
        if (bindAddress === 'localhost') await listenOnOtherAddresses(first, openRedirect)
      }
    }
    if (unixSocketPath !== null) {
      const handle: RequestListener = (request, response) => current.handleOnSocket(request, response)
      servers.push(await listenOnSocket(unixSocketPath, handle))
    }
  } catch (error) {
    await Promise.all(servers.map(closeServer))
    throw redirectPort === null
      ? describeListenError(error, { bindAddress, port, option: '--port' })
      : describeListenError(error, { bindAddress, port: redirectPort, option: '--http-redirect-port' })
  }
  return {
    port,
    redirectPort,
    address:
      options.port === null
        ? `unix:${unixSocketPath}`
        : `${certificate === null ? 'http' : 'https'}://${reachableHost(bindAddress)}:${port}`,
    handleWith(handler) {
      current = handler
    },
    handleBefore(isFor, handle) {
      before = { isFor, handle }
    },
    close: async () => void (await Promise.all(servers.map(closeServer))),
    closeAllConnections() {
      for (const server of servers) server.closeAllConnections()
    }
  }
}

function listenOn(server: ClosableServer, where: { host: string; port: number }): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(where, () => {
      server.off('error', reject)
      resolve(server.address() as AddressInfo)
    })
  })
}

/** `localhost` can be an IPv4 and an IPv6 address, but Node listens only on the first. Skips unusable addresses. */
async function listenOnOtherAddresses(
  { address: first, port }: Pick<AddressInfo, 'address' | 'port'>,
  openServer: () => ClosableServer
): Promise<void> {
  const addresses = (await dns.lookup('localhost', { all: true })).map(({ address }) => address)
  const others = addresses.filter((address) => address !== first)
  await Promise.all(others.map((host) => listenOn(openServer(), { host, port }).catch(() => {})))
}

/** The socket's user and group can open it (660), as in Scrapyd. Replaces only a socket left by a killed server. */
async function listenOnSocket(path: string, handle: RequestListener): Promise<ClosableServer> {
  if ((await isSocket(path)) && !(await isAnswered(path))) await unlink(path)
  const server = createServer(TIME_LIMITS, handle)
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
    // If the path cannot be read, listening shows whether the socket can be created.
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

function closeServer(server: ClosableServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
}

/** A server that listens on all interfaces can be reached at the loopback address. */
function reachableHost(bindAddress: string): string {
  if (bindAddress === '0.0.0.0' || bindAddress === '') return '127.0.0.1'
  if (bindAddress === '::') return '[::1]'
  return bindAddress.includes(':') ? `[${bindAddress}]` : bindAddress
}

function describeListenError(
  error: unknown,
  { bindAddress, port, option }: { bindAddress: string; port: number; option: string }
): Error {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    return new Error(
      `Port ${port} of ${bindAddress} is in use by another program. Stop it, or choose another with ${option}.`,
      { cause: error }
    )
  }
  if (code === 'EACCES') {
    return new Error(
      `Port ${port} of ${bindAddress} is not allowed to this user. Choose a port above 1023 with ${option}.`,
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
