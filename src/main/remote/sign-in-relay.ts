import { randomBytes, randomInt } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { isSame, sendPage } from '../../remote/sign-in/loopback.ts'
import { readCookies } from '../../server/auth/session-cookie.ts'
import { sentence } from '../../shared/texts/errors/desktop.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { RemoteConnection } from './connection.ts'
import { readFile } from 'node:fs/promises'
import { texts } from '../../shared/texts/ui/desktop.ts'

const COOKIES_MAX = 20
const LENGTH_MAX = 4_096

const SET_COOKIE = /^([^=;\s]+)=([^;]*)(.*)$/s
const IS_DELETED = /;\s*max-age\s*=\s*(0|-\d+)\s*(;|$)/i

/** The cookies of one server. They are sent to no other server. */
export class CookieJar {
  readonly #values = new Map<string, string>()

  get isEmpty(): boolean {
    return this.#values.size === 0
  }

  /** Adds one `Set-Cookie` header. Ignores malformed cookies and those over the limit. */
  add(setCookie: string): void {
    const [, name, value, attributes] = SET_COOKIE.exec(setCookie) ?? []
    if (name === undefined || setCookie.length > LENGTH_MAX) return
    this.#values.delete(name)
    if (IS_DELETED.test(attributes!)) return
    if (this.#values.size < COOKIES_MAX) this.#values.set(name, value!)
  }

  toString(): string {
    return [...this.#values].map(([name, value]) => `${name}=${value}`).join('; ')
  }
}

/** A port of this computer through which one browser reaches an engine that it cannot reach directly. */
export interface SignInRelay extends AsyncDisposable {
  /**
   * Returns a URL that the browser can open once and that leads to the path of `page` on the engine. Ignores the origin
   * of `page`.
   */
  entranceTo(page: string): string
  /** Aborts with SIGN_IN_FAILED when the address is opened a second time. The relay then rejects every request. */
  signal: AbortSignal
}

interface RelayOptions {
  name: string
  /** The engine's URL as seen from the SSH host. */
  inner: URL
  connection: Pick<RemoteConnection, 'request' | 'explain'>
}

/** The maximum number of connections. One browser opens six. */
const CONNECTIONS_MAX = 32
const BODY_MAX_BYTES = 100_000
const REQUEST_MS = 10_000
const LOGOUT_MS = 5_000
const PASS_SECONDS = 600

/** Headers that are not sent to the engine: those about this connection and address, cookies, and credentials. */
const NOT_FOR_ENGINE =
  /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-length|host|cookie|origin|referer|authorization|forwarded|x-forwarded-.*|x-real-ip|proxy-.*)$/
/**
 * Headers that are sent to the browser, because pages need them. Other headers affect a whole site or make the browser
 * store data.
 */
const FOR_BROWSER =
  /^(content-(type|length|encoding|language|disposition|range|security-policy)|retry-after|referrer-policy|permissions-policy|x-content-type-options|x-frame-options|cross-origin-(opener|embedder|resource)-policy)$/
/**
 * A Content-Security-Policy in addition to the engine's own, because the engine's pages must not reach other programs
 * on this computer.
 */
const POLICY =
  "default-src 'self' 'unsafe-inline' data: blob:; connect-src 'self'; img-src 'self' data: blob:; frame-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/**
 * Listens on loopback and sends the browser's requests over `connection`, which checks the SSH host and a pinned
 * certificate. Requests have the engine's own host, because the engine's check against DNS rebinding requires that.
 * Accepts only the browser that opened the entrance. Holds the engine's session cookie, and logs out when closed.
 */
export async function openSignInRelay({ name, inner, connection }: RelayOptions): Promise<SignInRelay> {
  const secret = randomBytes(32).toString('base64url')
  const ticket = randomBytes(32).toString('base64url')
  const closing = new AbortController()
  const openedTwice = new AbortController()
  const jar = new CookieJar()
  let start: string | null = null
  let isEntered = false

  const limits = { maxHeaderSize: 16_384, requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }
  const server = createServer({ ...limits, connectionsCheckingInterval: 5_000 }, (request, response) => {
    answer(request, response).catch(async (error: unknown) => {
      // The browser disconnected or has already received the start of another response.
      if (response.destroyed || response.headersSent) return void response.destroy()
      const { message } = await connection.explain(error)
      await sendPage(response, texts.noResponse, message, { status: 502 })
    })
  })
  const connections = new Connections()
  server.on('connection', (socket) => connections.add(socket))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, pickLoopbackAddress(), resolve)
  })
  const { address, port } = server.address() as AddressInfo
  const host = `${address}:${port}`
  const origin = `http://${host}`
  // Browsers send cookies to all ports of a host, so the name contains the port.
  const passName = `scrapdeck_relay_${port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, method, socket } = request
    if (!(await connections.isOurs(socket))) return
    const url = URL.parse(`${origin}${request.url}`)
    if (headers.host !== host || url?.origin !== origin || closing.signal.aborted) return refuse(response, 404)
    const isEntrance = start !== null && method === 'GET' && isSame(url.pathname, `/${secret}`)
    const hasPass = readCookies(passName, headers.cookie).some((given) => isSame(given, ticket))
    if (!hasPass && isEntrance && isEntered) return failSignIn(response)
    if (!hasPass && !isEntrance) return refuse(response, 404)
    connections.use(socket, response)
    if (isEntrance) {
      isEntered = true
      const pass = `${passName}=${ticket}; Max-Age=${PASS_SECONDS}; Path=/; HttpOnly; SameSite=Strict`
      const entered = { location: start!, 'set-cookie': pass, 'cache-control': 'no-store' }
      return void response.writeHead(303, { ...entered, 'referrer-policy': 'no-referrer' }).end()
    }
    // Rejects pages from other ports, which can send the engine's origin or none. Also rejects service workers, which
    // would stay in the browser.
    const isForeign =
      (headers.origin ?? origin) !== origin || /^(same|cross)-site$/.test(String(headers['sec-fetch-site']))
    if (isForeign || headers['service-worker'] !== undefined) return refuse(response, 403)
    const body = await readBody(request)
    if (body === null) return refuse(response, 413)
    await forward({ request, response, path: `${url.pathname}${url.search}`, body })
  }

  async function forward(asked: {
    request: IncomingMessage
    response: ServerResponse
    path: string
    body: Buffer
  }): Promise<void> {
    const { request, response, path, body } = asked
    const left = new AbortController()
    response.once('close', () => left.abort())
    const answered = await connection.request({
      method: request.method as 'GET',
      path,
      body: body.length === 0 ? null : body,
      headers: headersForEngine(request.headers),
      signal: AbortSignal.any([left.signal, closing.signal])
    })
    for (const one of [answered.headers['set-cookie'] ?? []].flat()) jar.add(one)
    const { location } = answered.headers
    if (location !== undefined) {
      const to = URL.parse(String(location), `${inner.origin}${path}`)
      if (to?.origin !== inner.origin) {
        await answered.body.dump()
        return leadsElsewhere(response, to)
      }
      response.setHeader('location', here(to))
    }
    for (const [field, value] of Object.entries(answered.headers)) {
      if (value !== undefined && FOR_BROWSER.test(field)) response.setHeader(field, value)
    }
    response.appendHeader('content-security-policy', POLICY)
    response.writeHead(answered.statusCode, { 'cache-control': 'no-store' })
    await pipeline(answered.body, response)
  }

  /** Includes the origin, because a path alone could start with the name of another host: `//evil.example/`. */
  const here = ({ pathname, search, hash }: URL): string => `${origin}${pathname}${search}${hash}`

  function headersForEngine(given: IncomingHttpHeaders): Record<string, string | string[]> {
    const sent: Record<string, string | string[]> = {}
    for (const [field, value] of Object.entries(given)) {
      if (value !== undefined && !NOT_FOR_ENGINE.test(field)) sent[field] = value
    }
    if (given.origin !== undefined) sent['origin'] = inner.origin
    if (!jar.isEmpty) sent['cookie'] = jar.toString()
    return sent
  }

  /** The response to a link to an identity provider, which would return the browser to the engine's own address. */
  function leadsElsewhere(response: ServerResponse, to: URL | null): Promise<void> {
    const text = texts.leadsElsewhere(name, to?.host ?? texts.anotherAddress)
    const link = { href: start!, label: texts.backToLogin }
    return sendPage(response, texts.notThroughSsh, text, { status: 403, link })
  }

  /** Two browsers opened the entrance, and the wrong one may have been the first. */
  async function failSignIn(response: ServerResponse): Promise<void> {
    closing.abort()
    const error = new ScrapdeckError('SIGN_IN_FAILED', sentence('desktop.sign_in_opened_twice'))
    await sendPage(response, texts.signInStopped, error.message, { status: 403 })
    openedTwice.abort(error)
  }

  /** Ends the engine's session, because no client keeps its cookie. */
  async function logOut(): Promise<void> {
    const path = `${inner.pathname.replace(/\/+$/, '')}/ui/logout`
    const headers = { origin: inner.origin, cookie: jar.toString() }
    const signal = AbortSignal.timeout(LOGOUT_MS)
    const answered = await connection.request({ method: 'POST', path, headers, body: null, signal })
    await answered.body.dump()
  }

  return {
    signal: openedTwice.signal,
    entranceTo(page) {
      start = here(new URL(page))
      return `${origin}/${secret}`
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      server.close()
      server.closeAllConnections()
      // An engine that cannot be reached keeps the session until it expires.
      if (!jar.isEmpty) await logOut().catch(() => {})
    }
  }
}

/** Limits connections, so that other programs cannot use up those that the browser needs. */
class Connections {
  readonly #isOurs = new WeakMap<Socket, Promise<boolean>>()
  /** Connections without an accepted request, longest waiting first. */
  readonly #idle = new Set<Socket>()
  #open = 0

  add(socket: Socket): void {
    this.#open += 1
    this.#idle.add(socket)
    socket.once('close', () => {
      this.#open -= 1
      this.#idle.delete(socket)
    })
    if (this.#open > CONNECTIONS_MAX) {
      const [longest] = this.#idle
      this.#idle.delete(longest!)
      longest!.destroy()
    }
    const isOurs = isOfThisUser(socket)
    this.#isOurs.set(socket, isOurs)
    void isOurs.then((is) => is || socket.destroy())
  }

  isOurs(socket: Socket): Promise<boolean> {
    return this.#isOurs.get(socket)!
  }

  use(socket: Socket, response: ServerResponse): void {
    this.#idle.delete(socket)
    response.once('close', () => socket.destroyed || this.#idle.add(socket))
  }
}

/** Reveals nothing to clients that did not use the entrance or used it twice. */
function refuse(response: ServerResponse, status: number): Promise<void> {
  return sendPage(response, texts.nothingHere, texts.startSignInAgain, { status })
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > BODY_MAX_BYTES) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/**
 * Browsers send the cookies of an address to each of its ports, even to a port of another user. On Linux and Windows, a
 * random address in 127.0.0.0/8 has no other ports in use. macOS has only one address.
 */
export function pickLoopbackAddress(platform: NodeJS.Platform = process.platform): string {
  if (platform !== 'linux' && platform !== 'win32') return '127.0.0.1'
  // Avoids 127.0.x.y, which resolvers and the machine's own name use.
  return `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`
}

/**
 * How many times to read the table of connections. It is not a snapshot: a line can be missing in one read while other
 * connections open and close.
 */
const TRIES = 3
/** The second table lists clients that use IPv6 sockets for both protocols. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']
const MAPPED = '0000000000000000FFFF0000'

/**
 * Whether the program at the other end of a loopback connection belongs to this user. Only Linux provides this
 * information.
 */
export async function isOfThisUser(socket: Socket): Promise<boolean> {
  if (process.platform !== 'linux') return true
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  if (remoteAddress === undefined || localAddress === undefined) return false
  const peer = { from: inTable(remoteAddress, remotePort!), to: inTable(localAddress, localPort!) }
  for (let tries = TRIES; tries > 0; tries -= 1) {
    const tables = await Promise.all(TABLES.map(readTable))
    // A sandbox around the app can hide the table.
    if (tables[0] === null) return true
    for (const table of tables) {
      const uid = findUser(table ?? '', peer)
      if (uid !== null) return uid === process.geteuid!()
    }
  }
  return false
}

/** The user id of one end of a connection, from proc(5), net/tcp. Returns null if the table has no such line. */
export function findUser(table: string, { from, to }: { from: string; to: string }): number | null {
  const line = new RegExp(`^ *\\d+: (?:${MAPPED})?${from} (?:${MAPPED})?${to} (?:\\S+ +){4}(\\d+) `, 'm')
  const [, uid] = line.exec(table) ?? []
  return uid === undefined ? null : Number(uid)
}

/** 127.0.0.1:80 is 0100007F:0050. */
function inTable(address: string, port: number): string {
  const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, '0')
  const bytes = address.split('.').toReversed()
  return `${bytes.map((byte) => hex(Number(byte), 2)).join('')}:${hex(port, 4)}`
}

const readTable = (path: string): Promise<string | null> => readFile(path, 'latin1').catch(() => null)
