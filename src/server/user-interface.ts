import { existsSync } from 'node:fs'
import { join, sep } from 'node:path'
import fastifyCookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Audit } from '../engine/audit/audit.ts'
import { OWNER, type Principal } from '../engine/access/principal.ts'
import { actorOf, originOf } from './audit-origin.ts'
import { addressOf, clientOf } from './auth/client-address.ts'
import { FOR_VIEWERS, forRole } from './auth/route-roles.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { isEncrypted } from './connections.ts'
import { type Authenticator, knowsPassword } from './auth/authenticator.ts'
import type { DoorLimits } from './auth/door-limits.ts'
import { loginPage } from './auth/login-page.ts'
import { cookieName, SESSION_COOKIE } from './auth/session-cookie.ts'
import { SMALL_PAGE_POLICY } from './small-page.ts'
import { parseUrlEncoded } from './forms/urlencoded.ts'

/** Inline styles because the component library inserts style elements; scripts only from our own files. */
const UI_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const YEAR_SECONDS = 365 * 24 * 3600

interface UserInterfaceOptions {
  authenticator: Authenticator
  audit: Pick<Audit, 'record' | 'refuse'>
  limits: DoorLimits
  uiDirectory: string
}

/** `/ui/`: the built UI for browsers, with one-time links and a login form. */
export async function userInterfaceDoor(app: FastifyInstance, options: UserInterfaceOptions): Promise<void> {
  const { authenticator, uiDirectory } = options
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: 10_000 },
    (_request, body, done) => done(null, body)
  )
  // Only for writing cookies; session-cookie.ts reads them.
  await app.register(fastifyCookie, { hook: false })
  app.get('', FOR_VIEWERS, (_request, reply) => reply.redirect('/ui/'))
  app.get('/login', { ...FOR_VIEWERS, exposeHeadRoute: false }, (request, reply) => answerLink(options, request, reply))
  app.post('/login', FOR_VIEWERS, (request, reply) => answerForm(options, request, reply))
  app.post('/link', forRole('owner'), async (request, reply) => {
    if (!knowsPassword(request)) {
      throw new ScrapdeckError(
        'PASSWORD_REQUIRED',
        'A browser cannot create login links. Use `npm run scrapdeck -- link`, or send the user name and password.'
      )
    }
    await options.audit.record(actorOf(request, 'api'), { operation: 'login.link', input: null })
    return reply.type('text/plain').send(`/ui/login?token=${await authenticator.links.create()}`)
  })
  app.post('/password', FOR_VIEWERS, async (request, reply) => {
    const verdict = await authenticator.checkPasswordAgain(request, fieldsOf(request)('password'))
    if (verdict.is !== 'right') {
      const code = verdict.is === 'wrong' ? 'UNAUTHORIZED' : 'TOO_MANY_REQUESTS'
      await options.audit.refuse(actorOf(request, 'ui'), { operation: 'login.password', input: null, code })
    }
    if (verdict.is === 'blocked') reply.header('retry-after', String(verdict.retryAfterSeconds))
    return reply.code({ right: 204, wrong: 403, blocked: 429 }[verdict.is]).send()
  })
  app.post('/logout', FOR_VIEWERS, async (request, reply) => {
    const host = request.headers.host ?? ''
    await options.audit.record(actorOf(request, 'login'), { operation: 'logout', input: null })
    await authenticator.logOut(request)
    return reply.clearCookie(cookieName(host), SESSION_COOKIE).redirect('/ui/login', 303)
  })

  if (!existsSync(join(uiDirectory, 'index.html'))) {
    app.get('/*', FOR_VIEWERS, (_request, reply) =>
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
  app.get('/*', FOR_VIEWERS, (request, reply) => sendFile(uiDirectory, request, reply))
  // Routes are behind `#`, so a path without a file is mistyped. A page in place of a missing asset would hide a bug.
  app.setNotFoundHandler((request, reply) => {
    const isPage = request.method === 'GET' && !/\.[a-z0-9]+$/i.test(request.url.split('?', 1)[0] ?? '')
    if (isPage) return reply.redirect('/ui/')
    return reply.code(404).type('text/plain; charset=utf-8').send('There is no such file.\n')
  })
}

/** Only here is what @fastify/static would load at every start needed: its sender of files. */
async function sendFile(directory: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { default: send } = await import('@fastify/send')
  const path = (request.raw.url ?? '').split('?', 1)[0]!.slice('/ui'.length)
  const file = await send(request.raw, path, { root: directory, cacheControl: false })
  if (file.type === 'directory' || file.statusCode === 404) {
    reply.callNotFound()
    return reply
  }
  if (file.type === 'error') return reply.code(file.statusCode).headers(file.headers).send(file.stream)
  // Vite puts a content hash into the names of all files under assets/.
  const isHashed = file.metadata.path.startsWith(join(directory, 'assets') + sep)
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
    // Before the link is used up: after a 429 it still works.
    await options.limits.chargeLogin(request, reply)
    // Somebody else may have been faster.
    if (await authenticator.links.redeem(token)) return logIn(options, OWNER, request, reply)
  }
  if (await authenticator.hasSession(request)) return reply.redirect('/ui/', 303)
  if (token === undefined) return sendLoginPage(reply, 200, null)
  return sendLoginPage(
    reply,
    403,
    'This link was already used or is older than ten minutes. Log in, or make a new one with `npm run scrapdeck -- link`.'
  )
}

async function answerForm(
  options: UserInterfaceOptions,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { authenticator, limits } = options
  const field = fieldsOf(request)
  // The gate charged everybody else.
  const isKnown = authenticator.knows(request)
  const verdict = await authenticator.checkForm(request, { username: field('username'), password: field('password') })
  if (isKnown && verdict.is !== 'right') await limits.chargeOpen(request, reply)
  switch (verdict.is) {
    case 'right':
      await limits.chargeLogin(request, reply)
      return logIn(options, verdict.principal, request, reply)
    case 'wrong':
      await refuseLogin(options, field('username'), 'UNAUTHORIZED', request)
      return sendLoginPage(reply, 401, 'Wrong user name or password.')
    case 'blocked':
      await refuseLogin(options, field('username'), 'TOO_MANY_REQUESTS', request)
      return sendLoginPage(
        reply.header('retry-after', String(verdict.retryAfterSeconds)),
        429,
        `Too many failed attempts. Wait ${verdict.retryAfterSeconds} s and try again.`
      )
  }
}

/** The values of a form, by name; empty if absent. */
function fieldsOf(request: FastifyRequest): (name: string) => string {
  const fields = parseUrlEncoded((request.body as Buffer | undefined) ?? Buffer.alloc(0))
  return (name) => fields.get(name)?.[0]?.toString('utf8') ?? ''
}

async function logIn(
  { authenticator, audit }: UserInterfaceOptions,
  principal: Principal,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { host = '', origin = '' } = request.headers
  // A client that forges these only withholds its own cookie from itself.
  const isBehindTls =
    isEncrypted(request.raw) || origin.startsWith('https:') || request.headers['x-forwarded-proto'] === 'https'
  // `Secure` only behind TLS: the default is plain HTTP on the loopback interface.
  await audit.record({ principal, origin: originOf(request, 'login') }, { operation: 'login', input: null })
  const session = await authenticator.logIn(principal.userId)
  reply.setCookie(cookieName(host), session, { ...SESSION_COOKIE, secure: isBehindTls })
  return reply.header('cache-control', 'no-store').redirect('/ui/', 303)
}

/** Whoever guesses is counted by address, whatever names he tries. */
function refuseLogin(
  { audit }: UserInterfaceOptions,
  claimedName: string,
  code: string,
  request: FastifyRequest
): Promise<void> {
  const sender = clientOf(addressOf(request))
  const origin = originOf(request, 'login')
  return audit.refuse({ principal: null, claimedName, origin }, { operation: 'login', input: null, code, sender })
}

function sendLoginPage(reply: FastifyReply, status: number, problem: string | null): FastifyReply {
  return (
    reply
      .code(status)
      // With `no-referrer`, browsers would send `Origin: null` with the form, which the origin check rejects.
      .header('referrer-policy', 'same-origin')
      .header('content-security-policy', SMALL_PAGE_POLICY)
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(loginPage(problem))
  )
}
