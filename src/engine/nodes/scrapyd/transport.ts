import { lookup } from 'node:dns'
import { request as requestOverHttp } from 'node:http'
import { request as requestOverHttps } from 'node:https'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { buildConnector, Client } from 'undici'
import type { Clock } from '../../runtime/clock.ts'
import { onlyTrusting } from '../../../shared/pinned-certificate.ts'
import { isMetadataAddress } from '../../runtime/metadata-addresses.ts'
import { connectThrough } from '../ssh/connect-through.ts'
import type { TunnelUse } from '../ssh/ssh-tunnels.ts'

export interface NodeAddressParts {
  /** As returned by parseNodeUrl. */
  url: string
  username: string | null
  password: string | null
  /** PEM. null: the system's CAs. */
  caCertificate: string | null
  /** PEM. Both or neither. */
  clientCertificate?: string | null
  clientKey?: string | null
  /** PEM. The only trusted certificate, regardless of its names. null: any certificate with a trusted signature. */
  onlyCertificate?: string | null
  /** Our certificate for servers that require one. Read for each connection. */
  own?: { readonly context: Pick<SecureContextOptions, 'cert' | 'key'> } | null
  /** The node's own setting. null: the environment decides (chooseProxy). */
  proxyUrl?: string | null
}

export interface Transport {
  /** The start of each path: the base path, or the full base URL for a forwarding proxy. */
  pathPrefix: string
  headers: Record<string, string>
  /** The host that we connect to first, for messages. `via` null: the node itself. */
  firstHop: { via: 'proxy' | 'ssh' | null; at: string }
  createClient(): Client
}

const CONNECT_TIMEOUT_MS = 5000
/**
 * The time limit for connecting over SSH. It is shorter than that of any request, so that the failed connection is
 * the reported reason.
 */
const CONNECT_OVER_SSH_TIMEOUT_MS = 4500
// Scrapyd (Twisted) closes an idle connection after 60 s, and nginx after 75 s. We close ours before that.
const IDLE_CONNECTION_MS = 30_000
// The time limit of our own lookup if a proxy or SSH host resolves the node's name. Our result is then only a hint.
const HINT_MS = 1_000

/** Shared by all plain connections, because each connector has a TLS session cache and a fleet can be large. */
const connectPlainly = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: lookupAllowed, allowH2: false })

/** `base`: the node's URL, without the proxy or SSH host. `through`: a proxy URL, an SSH tunnel, or null. */
export function createTransport(
  base: URL,
  through: string | TunnelUse | null,
  { address, clock }: { address: NodeAddressParts; clock: Clock }
): Transport {
  if (through === null) {
    const connect = base.protocol === 'https:' ? connectorFor(address) : connectPlainly
    return {
      pathPrefix: base.pathname,
      headers: {},
      firstHop: { via: null, at: base.host },
      createClient: () => new Client(base.origin, { ...CLIENT_OPTIONS, connect })
    }
  }
  if (typeof through !== 'string') return transportOverSsh(base, through, { address, clock })
  const proxy = new URL(through)
  const authorization = proxyAuthorization(proxy)
  const checkTarget = () => refuseForbidden(base.hostname, clock)
  const firstHop = { via: 'proxy', at: proxy.host } as const
  if (base.protocol === 'http:') {
    const toProxy = proxy.protocol === 'https:' ? connectorFor(null) : connectPlainly
    const connect: buildConnector.connector = (options, callback) => {
      checkTarget().then(
        () => toProxy({ ...options, servername: serverName(proxy) }, callback),
        (error: Error) => callback(error, null)
      )
    }
    return {
      pathPrefix: base.origin + base.pathname,
      headers: { host: base.host, ...authorization },
      firstHop,
      createClient: () => new Client(proxy.origin, { ...CLIENT_OPTIONS, connect })
    }
  }
  const secure = connectorFor(address)
  const connect: buildConnector.connector = (options, callback) => {
    checkTarget()
      .then(() => openTunnel(proxy, base, authorization))
      .then(
        (httpSocket) => secure({ ...options, httpSocket }, callback),
        (error: Error) => callback(error, null)
      )
  }
  return {
    pathPrefix: base.pathname,
    headers: {},
    firstHop,
    createClient: () => new Client(base.origin, { ...CLIENT_OPTIONS, connect })
  }
}

function transportOverSsh(
  base: URL,
  tunnel: TunnelUse,
  { address, clock }: { address: NodeAddressParts; clock: Clock }
): Transport {
  const secure = base.protocol === 'https:' ? connectorFor(address) : null
  const connect: buildConnector.connector = (options, callback) => {
    refuseForbidden(base.hostname, clock)
      .then(() => connectThrough(tunnel, base, { clock, timeoutMs: CONNECT_OVER_SSH_TIMEOUT_MS }))
      .then(
        (socket) => (secure === null ? callback(null, socket) : secure({ ...options, httpSocket: socket }, callback)),
        (error: Error) => callback(error, null)
      )
  }
  return {
    pathPrefix: base.pathname,
    headers: {},
    firstHop: { via: 'ssh', at: tunnel.status().host },
    createClient: () => new Client(base.origin, { ...CLIENT_OPTIONS, connect })
  }
}

const CLIENT_OPTIONS = {
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: IDLE_CONNECTION_MS,
  // The request's own timer is the only time limit and also covers the wait for a free connection.
  headersTimeout: 0,
  bodyTimeout: 0
} as const

function connectorFor(address: NodeAddressParts | null): buildConnector.connector {
  const { caCertificate, clientCertificate, clientKey, onlyCertificate, own } = address ?? {}
  return buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    lookup: lookupAllowed,
    allowH2: false,
    ...(caCertificate == null ? {} : { ca: caCertificate }),
    ...(onlyCertificate == null ? {} : onlyTrusting(onlyCertificate)),
    ...(own == null ? {} : { cert: own.context.cert, key: own.context.key }),
    ...(clientCertificate == null || clientKey == null ? {} : { cert: clientCertificate, key: clientKey })
  })
}

/** Opens a tunnel to the node through the proxy. TLS runs inside it, so the proxy cannot read the traffic. */
function openTunnel(proxy: URL, base: URL, authorization: Record<string, string>): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const target = `${base.hostname}:${base.port || '443'}`
  const asked = (proxy.protocol === 'https:' ? requestOverHttps : requestOverHttp)({
    method: 'CONNECT',
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    path: target,
    headers: { host: target, ...authorization },
    agent: false,
    lookup: lookupAllowed,
    timeout: CONNECT_TIMEOUT_MS,
    ...(proxy.protocol === 'https:' ? { servername: serverName(proxy) } : {})
  })
  asked.once('connect', (answer, socket: Socket) => {
    socket.setTimeout(0)
    if (answer.statusCode === 200) return resolve(socket)
    socket.destroy()
    reject(new ProxyRefused(answer.statusCode ?? null))
  })
  // Some proxies refuse with an ordinary response.
  asked.once('response', (answer) => {
    answer.destroy()
    reject(new ProxyRefused(answer.statusCode ?? null))
  })
  asked.once('timeout', () => asked.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })))
  asked.on('error', reject)
  asked.end()
  return promise
}

/** `code` is PROXY_REFUSED or PROXY_UNAUTHORIZED. */
export class ProxyRefused extends Error {
  readonly code: string
  readonly status: number | null

  constructor(status: number | null) {
    super(`the proxy answered ${status}`)
    this.code = status === 407 ? 'PROXY_UNAUTHORIZED' : 'PROXY_REFUSED'
    this.status = status
  }
}

function proxyAuthorization(proxy: URL): Record<string, string> {
  if (proxy.username === '') return {}
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}` }
}

function serverName(url: URL): string {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? host : ''
}

/** A host name can resolve to an address that parseNodeUrl would refuse. */
function lookupAllowed(...[host, options, callback]: Parameters<LookupFunction>): void {
  lookup(host, options, (error, address, family) => {
    const addresses = Array.isArray(address) ? address.map((each) => each.address) : [address]
    if (!error && addresses.some(isMetadataAddress)) {
      callback(forbidden(host), [])
      return
    }
    callback(error, address as never, family)
  })
}

/**
 * The proxy or SSH host resolves the name itself, perhaps differently. We send no request if the name resolves to a
 * forbidden address here. Names that resolve only there, or only slowly here, are allowed.
 */
function refuseForbidden(hostname: string, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(HINT_MS, resolve)
    lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }, (error, addresses) => {
      timer.cancel()
      if (!error && addresses.some(({ address }) => isMetadataAddress(address))) reject(forbidden(hostname))
      else resolve()
    })
  })
}

function forbidden(host: string): Error {
  return Object.assign(new Error(`${host} resolves to a forbidden address`), { code: 'FORBIDDEN_ADDRESS' })
}
