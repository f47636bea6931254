import { existsSync } from 'node:fs'
import { join, sep } from 'node:path'
import { negotiate } from '@fastify/accept-negotiator'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Audit } from '../engine/access/audit/audit.ts'
import { OWNER } from '../engine/access/principal.ts'
import { actorOf, originOf, recordVouching, SESSION_DIGITS } from './audit-origin.ts'
import { addressOf, clientOf } from './auth/client-address.ts'
import { FOR_READERS, forPermissionInAll } from './auth/route-permissions.ts'
import { ERROR_CODES, ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/server.ts'
import { type Authenticator, knowsPassword } from './auth/authenticator.ts'
import type { EndpointLimits } from './auth/endpoint-limits.ts'
import { BACK_CHANNEL_PATH, CALLBACK_PATH, LOGIN_MS, type OidcSignIn, SIGN_IN_PATH } from './auth/oidc-sign-in.ts'
import { addressInBrowser, cookiesOf, sendCookie, setSessionCookie } from './auth/session-reply.ts'
import { signInEndpoints, type SignInEndpointsOptions } from './auth/sign-in-endpoints.ts'
import { fieldsOf } from './forms/receive-form.ts'
import type { LoginEndpoints } from './login-endpoints.ts'

/** The component library inserts inline styles. Scripts are allowed only from our own files. */
const UI_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** The build puts compressed copies next to these files (electron.vite.config.ts). */
const COMPRESSED = /^\/assets\/[\w.-]+\.(js|css)$/
const TYPES: Record<string, string> = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' }
const ENDINGS: Record<string, string> = { br: '.br', gzip: '.gz' }

const YEAR_SECONDS = 365 * 24 * 3600

interface UserInterfaceOptions extends Pick<SignInEndpointsOptions, 'access' | 'signIns'> {
  authenticator: Authenticator
  audit: Pick<Audit, 'perform' | 'record' | 'refuse'>
  limits: EndpointLimits
  uiDirectory: string
  /** The address where browsers reach this Scrapdeck, or null for the host of their request. */
  publicUrl: string | null
  login: LoginEndpoints
}

export async function userInterfaceEndpoints(app: FastifyInstance, options: UserInterfaceOptions): Promise<void> {
  const { authenticator, uiDirectory } = options
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: 10_000 },
    (_request, body, done) => done(null, body)
  )
  app.get('', FOR_READERS, (_request, reply) => reply.redirect('/ui/'))
  app.get('/login', { ...FOR_READERS, exposeHeadRoute: false }, (request, reply) => answerLink(options, request, reply))
  options.login.serve(app)
  app.post('/link', forPermissionInAll('users.change'), async (request, reply) => {
    if (!knowsPassword(request)) {
      throw new ScrapdeckError('PASSWORD_REQUIRED', sentence('server.no_login_links_for_browsers'))
    }
    await options.audit.record(actorOf(request, 'api'), { operation: 'login.link', input: null })
    return reply.type('text/plain').send(`/ui/login?token=${await authenticator.links.create()}`)
  })
  app.post('/logout', FOR_READERS, async (request, reply) => {
    await options.audit.record(actorOf(request, 'login'), { operation: 'logout', input: null })
    const fromProvider = await authenticator.logOut(request)
    // Remove a renewed cookie that the gate may have set.
    reply.removeHeader('set-cookie')
    setSessionCookie(request, reply, { token: '', maxAgeSeconds: 0 })
    const returnTo = `${publicAddressOf(options, request)}/ui/login`
    const elsewhere = fromProvider === null ? null : await authenticator.oidc?.endUrl(fromProvider, returnTo)
    if (elsewhere == null) return reply.redirect('/ui/login', 303)
    // Do not redirect, because browsers can block a redirect of the page's request to another host. The page opens the
    // address instead.
    return reply.send({ continueAt: elsewhere })
  })
  signInEndpoints(app, options)
  if (authenticator.oidc !== null) serveSignIn(app, authenticator.oidc, options)

  if (!existsSync(join(uiDirectory, 'index.html'))) {
    app.get('/*', FOR_READERS, (_request, reply) =>
      reply
        .code(503)
        .type('text/plain; charset=utf-8')
        .send('The user interface is not built. Run `npm run build` and start again.\n')
    )
    return
  }
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('content-security-policy', UI_POLICY)
  })
  app.get('/*', FOR_READERS, (request, reply) => sendFile(uiDirectory, request, reply))
  // The UI's routes are fragments, so a path without a file is a typo. Missing assets remain a 404 to reveal the bug.
  app.setNotFoundHandler((request, reply) => {
    const isPage = request.method === 'GET' && !/\.[a-z0-9]+$/i.test(request.url.split('?', 1)[0] ?? '')
    if (isPage) return reply.redirect('/ui/')
    return reply.code(404).type('text/plain; charset=utf-8').send('There is no such file.\n')
  })
}

/** Loads only the file sender of @fastify/static, because the whole package would slow down every start. */
async function sendFile(directory: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { default: send } = await import('@fastify/send')
  const path = (request.raw.url ?? '').split('?', 1)[0]!.slice('/ui'.length)
  const options = { root: directory, cacheControl: false }
  const kind = COMPRESSED.exec(path)?.[1]
  const coding = kind === undefined ? null : negotiate(request.headers['accept-encoding'] ?? '', ['br', 'gzip'])
  let file = coding === null ? null : await send(request.raw, `${path}${ENDINGS[coding]}`, options)
  if (kind !== undefined) reply.header('vary', 'accept-encoding')
  if (file?.type === 'file')
    file.headers = { ...file.headers, 'content-encoding': coding!, 'content-type': TYPES[kind!]! }
  else file = await send(request.raw, path, options)
  if (file.type === 'directory' || file.statusCode === 404) {
    reply.callNotFound()
    return reply
  }
  if (file.type === 'error') return reply.code(file.statusCode).headers(file.headers).send(file.stream)
  // Vite puts a content hash into the name of every file under assets/.
  const isHashed = file.metadata.path.startsWith(join(directory, 'assets') + sep)
  // A proxy that caches the file would give this cookie to all users.
  if (isHashed) reply.removeHeader('set-cookie')
  reply.header('cache-control', isHashed ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache')
  return reply.code(file.statusCode).headers(file.headers).send(file.stream)
}

async function answerLink(
  options: UserInterfaceOptions,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { authenticator } = options
  const { token } = request.query as { token?: string | string[] }
  if (typeof token === 'string' && (await authenticator.links.isOpen(token))) {
    // Charge before the link is redeemed, so that the link still works after a 429.
    await options.limits.chargeLogin(request, reply)
    if (await authenticator.links.redeem(token))
      return options.login.logIn(OWNER, { signedInWith: 'link' }, request, reply)
  }
  if (await authenticator.hasSession(request)) return reply.redirect('/ui/', 303)
  if (token === undefined) return options.login.sendPage(request, reply, { status: 200, problem: null })
  const problem =
    'This link was already used or is older than ten minutes. Log in, or make a new one with `npm run scrapdeck -- link`.'
  return options.login.sendPage(request, reply, { status: 403, problem })
}

function serveSignIn(app: FastifyInstance, oidc: OidcSignIn, options: UserInterfaceOptions): void {
  const { authenticator, limits } = options
  const noHead = { ...FOR_READERS, exposeHeadRoute: false }
  app.get(SIGN_IN_PATH.slice('/ui'.length), noHead, async (request, reply) => {
    const { page = '' } = request.query as { page?: unknown }
    try {
      const { url, cookie } = await oidc.begin({
        address: publicAddressOf(options, request),
        client: clientOf(addressOf(request)),
        page: String(page)
      })
      sendCookie('login', { request, reply }, { value: cookie, maxAgeSeconds: LOGIN_MS / 1_000 })
      return reply.redirect(url, 303)
    } catch (error) {
      return sendProblem(error, options, request, reply)
    }
  })
  app.get(CALLBACK_PATH.slice('/ui'.length), noHead, async (request, reply) => {
    const cookies = cookiesOf('login', request)
    await limits.chargeLogin(request, reply)
    // Delete the cookie now. It cannot be used again, even if the sign-in fails.
    sendCookie('login', { request, reply }, { value: '', maxAgeSeconds: 0 })
    try {
      const query = (request.raw.url ?? '').split('?').slice(1).join('?')
      const { principal, page, providerSession } = await recordVouching(
        ...([options.audit, request, { operation: 'users.signIn', claimedName: 'oidc' }] as const),
        () => oidc.finish(cookies.slice(0, COOKIES_MAX), query)
      )
      // End the browser's previous session, because others may know its cookie.
      await authenticator.logOut(request)
      const input = { signedInWith: 'oidc' }
      await options.audit.record({ principal, origin: originOf(request, 'login') }, { operation: 'login', input })
      const begun = await authenticator.logIn(principal, {
        signedInWith: 'oidc' as const,
        endsAtMs: oidc.endsAtMs(),
        request
      })
      oidc.keep(begun.id, providerSession)
      setSessionCookie(request, reply, begun)
      return reply.redirect(`/ui/${page}`, 303)
    } catch (error) {
      if (error instanceof ScrapdeckError) await options.login.refuse('oidc', error.code, request)
      return sendProblem(error, options, request, reply)
    }
  })
  app.post(BACK_CHANNEL_PATH.slice('/ui'.length), FOR_READERS, async (request, reply) => {
    const token = fieldsOf(request)('logout_token')
    const by = { operation: 'users.endSessions', claimedName: 'oidc' } as const
    const ended = await recordVouching(options.audit, request, by, async () => {
      const ids = await oidc.endByProvider(token)
      for (const id of ids) await authenticator.endSession(id)
      return ids
    })
    if (ended.length > 0) {
      const actor = { principal: null, claimedName: 'oidc', origin: originOf(request, 'login') }
      const sessions = ended.map((id) => id.slice(0, SESSION_DIGITS))
      await options.audit.record(actor, { operation: 'users.endSessions', input: { sessions } })
    }
    return reply.header('cache-control', 'no-store').send()
  })
}

const COOKIES_MAX = 10

function sendProblem(
  error: unknown,
  { login }: UserInterfaceOptions,
  request: FastifyRequest,
  reply: FastifyReply
): FastifyReply {
  if (!(error instanceof ScrapdeckError)) throw error
  const { status } = ERROR_CODES[error.code]
  return login.sendPage(request, reply, { status, problem: error.message, isElsewhere: true })
}

/** The public address, such as `https://deck.example.org`. The gate has already checked the host. */
const publicAddressOf = ({ publicUrl }: UserInterfaceOptions, request: FastifyRequest): string =>
  publicUrl ?? addressInBrowser(request)
