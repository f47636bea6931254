import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Principal } from '../engine/access/principal.ts'
import type { Audit } from '../engine/access/audit/audit.ts'
import type { Engine, NoPasskeySite, PasskeyAnswer, PasskeySite } from '../engine/index.ts'
import type { Clock } from '../engine/runtime/clock.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/server.ts'
import { toWireError } from '../shared/wire-errors.ts'
import { originOf } from './audit-origin.ts'
import type { Authenticator } from './auth/authenticator.ts'
import { PendingLogins } from './auth/pending-logins.ts'
import { addressOf, clientOf } from './auth/client-address.ts'
import type { EndpointLimits } from './auth/endpoint-limits.ts'
import {
  codePage,
  loginPage,
  loginPagePolicy,
  recoveryCodesPage,
  setUpPage,
  PASSKEY_OPTIONS_PATH
} from './auth/login-page.ts'
import type { NextStep } from './auth/password-check.ts'
import { FOR_READERS } from './auth/route-permissions.ts'
import { hashToken } from './auth/secrets.ts'
import { cookiesOf, sendCookie, setSessionCookie } from './auth/session-reply.ts'
import type { SignedInWith } from './auth/session-token.ts'
import { fieldsOf } from './forms/receive-form.ts'
import { SMALL_PAGE_POLICY } from './small-page.ts'

export interface LoginEndpointsOptions {
  authenticator: Authenticator
  access: Pick<Engine['access'], 'findBySession'>
  secondFactors: Engine['secondFactors']
  audit: Pick<Audit, 'perform' | 'record' | 'refuse'>
  limits: EndpointLimits
  clock: Clock
  siteOf: (request: FastifyRequest) => PasskeySite | NoPasskeySite
}

/** How long to wait for the second step of a login: a code, setting up an app (which takes longest), or a passkey. */
const STEP_MS = 10 * 60_000
const TRIES_MAX = 5
const COOKIES_MAX = 10
const STEP_DIGITS = 16

/** A login with the correct password whose second step is missing. */
interface HalfLogin {
  userId: NonNullable<Principal['userId']>
  name: string
  sinceMs: number
  next: NextStep
  triesLeft: number
  app: { secret: string; qrCode: string } | null
}

const Text = z.string().max(4_000)
const Answer = z.object({
  id: Text,
  rawId: Text,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: Text,
    authenticatorData: Text,
    signature: Text,
    userHandle: Text.nullish().transform((handle) => handle ?? undefined)
  }),
  clientExtensionResults: z.record(z.string().max(100), z.unknown()).default({})
}) satisfies z.ZodType<PasskeyAnswer>

/** Handles `/ui/login`: a name and password, then a code if the account has one, or a passkey instead of both. */
export class LoginEndpoints {
  readonly #options: LoginEndpointsOptions
  readonly #half: PendingLogins<HalfLogin>
  readonly #asked: PendingLogins<{ challenge: string; site: PasskeySite }>

  constructor(options: LoginEndpointsOptions) {
    this.#options = options
    this.#half = new PendingLogins(options.clock, STEP_MS)
    this.#asked = new PendingLogins(options.clock, STEP_MS)
  }

  serve(app: FastifyInstance): void {
    app.post('/login', FOR_READERS, (request, reply) => this.#answerForm(request, reply))
    app.post(PASSKEY_OPTIONS_PATH.slice('/ui'.length), FOR_READERS, (request, reply) =>
      this.#sendPasskeyOptions(request, reply)
    )
  }

  async #answerForm(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const field = fieldsOf(request)
    if (field('saved') !== '') return toWantedPage(reply)
    if (field('passkey') !== '') return this.#answerPasskey(field('passkey'), request, reply)
    if (field('step') !== '') return this.#answerStep(field('step'), field('code'), request, reply)
    return this.#answerPassword(field('username'), field('password'), request, reply)
  }

  async #answerPassword(
    username: string,
    password: string,
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> {
    const { authenticator, limits } = this.#options
    // The gate has already charged unknown clients.
    const isKnown = authenticator.knows(request)
    const verdict = await authenticator.checkForm(request, { username, password }).catch((error: unknown) => {
      // The plugin cannot check the password, or the password is correct but the user has no role.
      if (error instanceof ScrapdeckError) return { is: 'refused' as const, error }
      throw error
    })
    if (isKnown && verdict.is !== 'right') await limits.chargeOpen(request, reply)
    switch (verdict.is) {
      case 'right':
        await limits.chargeLogin(request, reply)
        return this.logIn(verdict.principal, { signedInWith: 'password' }, request, reply)
      case 'half':
        return this.#askForStep(verdict.principal, verdict.next, request, reply)
      case 'wrong':
        await this.refuse(username, 'UNAUTHORIZED', request)
        return this.sendPage(request, reply, { status: 401, problem: 'Wrong user name or password.' })
      case 'refused': {
        await this.refuse(username, verdict.error.code, request)
        const { status, message: problem } = toWireError(verdict.error)
        return this.sendPage(request, reply, { status, problem })
      }
      case 'blocked': {
        await this.refuse(username, 'TOO_MANY_REQUESTS', request)
        const { retryAfterSeconds } = verdict
        const problem = `Too many failed attempts. Wait ${retryAfterSeconds} s and try again.`
        return this.sendPage(request, reply.header('retry-after', String(retryAfterSeconds)), { status: 429, problem })
      }
    }
  }

  async #askForStep(
    { userId, name, sinceMs }: Principal,
    next: NextStep,
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> {
    const { secondFactors, siteOf } = this.#options
    // Only the service's own password has no user. That password never needs a second step.
    const user = userId!
    let app: HalfLogin['app'] = null
    if (next === 'setUp') {
      // Require the passkey. Otherwise, a thief who knows only the password could set up a second factor.
      if (secondFactors.hasPasskey(user)) {
        const problem = 'This Scrapdeck asks everybody for a second factor: log in with your passkey.'
        return this.sendPage(request, reply, { status: 403, problem })
      }
      const site = siteOf(request)
      app = await secondFactors.beginSetUp(user, 'host' in site ? site.host : null)
    }
    const half: HalfLogin = { userId: user, name, sinceMs, next, triesLeft: TRIES_MAX, app }
    const cookie = this.#half.add(half, clientOf(addressOf(request)))
    setStepCookie(request, reply, cookie)
    return sendStep(reply, half, { step: stepOf(cookie), problem: null, status: 200 })
  }

  /** Several wrong codes end the login and slow down the account (engine/access/second-factor/codes.ts). */
  async #answerStep(step: string, code: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { limits, access } = this.#options
    // Use only the cookie that belongs to this form, because another page may have added cookies.
    const cookies = stepCookiesOf(request).filter((cookie) => stepOf(cookie) === step)
    const found = this.#half.find(cookies)
    const principal = found === null ? null : access.findBySession(found.value.userId, found.value.sinceMs)
    if (found === null || principal === null) {
      setStepCookie(request, reply, null)
      const problem =
        'This login took more than ten minutes, was already finished, or began in another browser. Start again.'
      return this.sendPage(request, reply, { status: 403, problem })
    }
    const half = found.value
    half.triesLeft -= 1
    if (half.triesLeft === 0) this.#half.take(cookies)
    try {
      const done = await this.#finishStep(half, code, request)
      // Another request from the same page may have completed the login first.
      if (done !== null && (half.triesLeft === 0 || this.#half.take(cookies) !== null)) {
        await limits.chargeLogin(request, reply)
        const { recoveryCodes, ...how } = done
        setStepCookie(request, reply, null)
        await this.#beginSession(principal, { signedInWith: 'password', ...how }, request, reply)
        if (recoveryCodes === undefined) return toWantedPage(reply)
        return sendSmallPage(reply, 200, recoveryCodesPage(recoveryCodes))
      }
      await this.refuse(half.name, 'UNAUTHORIZED', request)
      return this.#sendAgain(
        half,
        { step, problem: 'This code is wrong, or was used before.', status: 401 },
        request,
        reply
      )
    } catch (error) {
      if (!(error instanceof ScrapdeckError)) throw error
      const { code: reason, message } = error
      await this.refuse(half.name, reason, request)
      const status = reason === 'TOO_MANY_REQUESTS' ? 429 : 400
      return this.#sendAgain(half, { step, problem: message, status }, request, reply)
    }
  }

  async #finishStep(
    { userId, name, sinceMs, next }: HalfLogin,
    code: string,
    request: FastifyRequest
  ): Promise<{ secondFactor: string; recoveryCodes?: string[] } | null> {
    const { secondFactors, authenticator, audit } = this.#options
    if (next === 'code') {
      const kind = await secondFactors.useCode(userId, code, authenticator.knownClientOf(request, name))
      return kind === null ? null : { secondFactor: kind }
    }
    const recoveryCodes = await audit.perform(
      { principal: null, claimedName: name, origin: originOf(request, 'login') },
      { operation: 'secondFactors.confirmAuthenticator', input: {}, writes: true, onlyChanges: true },
      () => secondFactors.confirmSetUp(userId, code, () => this.#refuseEnded({ userId, sinceMs }))
    )
    return { secondFactor: 'authenticator', recoveryCodes }
  }

  #sendAgain(
    half: HalfLogin,
    { step, problem, status }: { step: string; problem: string; status: number },
    request: FastifyRequest,
    reply: FastifyReply
  ): FastifyReply {
    if (half.triesLeft > 0) return sendStep(reply, half, { step, problem, status })
    setStepCookie(request, reply, null)
    return this.sendPage(request, reply, { status, problem: `${problem} Start again.` })
  }

  async #sendPasskeyOptions(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { siteOf, secondFactors } = this.#options
    const site = siteOf(request)
    if ('problem' in site) throw new ScrapdeckError('BAD_INPUT', site.problem)
    const options = await secondFactors.beginLogin(site)
    const cookie = this.#asked.add({ challenge: options.challenge, site }, clientOf(addressOf(request)))
    setStepCookie(request, reply, cookie)
    return reply.header('cache-control', 'no-store').send(options)
  }

  async #answerPasskey(text: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { secondFactors, limits } = this.#options
    setStepCookie(request, reply, null)
    const asked = this.#asked.take(stepCookiesOf(request))
    const answer = Answer.safeParse(parseJson(text))
    try {
      if (asked === null || !answer.success) {
        throw new ScrapdeckError('UNAUTHORIZED', sentence('server.login_took_too_long'), {
          data: { credentials: 'wrong' }
        })
      }
      const principal = await secondFactors.finishLogin(answer.data, asked)
      await limits.chargeLogin(request, reply)
      return await this.logIn(principal, { signedInWith: 'passkey' }, request, reply)
    } catch (error) {
      if (!(error instanceof ScrapdeckError) || error.code !== 'UNAUTHORIZED') throw error
      await this.refuse('passkey', error.code, request)
      return this.sendPage(request, reply, { status: 401, problem: `${error.message} Start again.` })
    }
  }

  async logIn(
    principal: Principal,
    how: { signedInWith: SignedInWith },
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> {
    await this.#beginSession(principal, how, request, reply)
    return toWantedPage(reply)
  }

  async #beginSession(
    principal: Principal,
    how: { signedInWith: SignedInWith; secondFactor?: string },
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<void> {
    const { authenticator, audit } = this.#options
    const { signedInWith } = how
    await audit.record({ principal, origin: originOf(request, 'login') }, { operation: 'login', input: { ...how } })
    this.#refuseEnded(principal)
    if (signedInWith !== 'link') authenticator.markKnown(request, principal.name)
    setSessionCookie(request, reply, await authenticator.logIn(principal, { signedInWith, request }))
  }

  /** Throws UNAUTHORIZED if the user's sessions have ended since the password was checked. */
  #refuseEnded({ userId, sinceMs }: Pick<Principal, 'userId' | 'sinceMs'>): void {
    if (userId === null || this.#options.access.findBySession(userId, sinceMs) !== null) return
    const text = sentence('server.password_changed_meanwhile')
    throw new ScrapdeckError('UNAUTHORIZED', text, { data: { credentials: 'wrong' } })
  }

  sendPage(
    request: FastifyRequest,
    reply: FastifyReply,
    { status, problem, isElsewhere = false }: { status: number; problem: string | null; isElsewhere?: boolean }
  ): FastifyReply {
    const { authenticator, secondFactors, siteOf } = this.#options
    const site = siteOf(request)
    const passkeys = !secondFactors.havePasskeys
      ? null
      : 'problem' in site
        ? { problem: site.problem.text }
        : ('yes' as const)
    const page = { problem, signInWith: authenticator.oidc?.label ?? null, passkeys, isElsewhere }
    return sendSmallPage(reply, status, loginPage(page), loginPagePolicy(page))
  }

  /** Counts the failure per address, not per name. */
  refuse(claimedName: string, code: string, request: FastifyRequest): Promise<void> {
    const sender = clientOf(addressOf(request))
    const origin = originOf(request, 'login')
    const refused = { operation: 'login', input: null, code, sender }
    return this.#options.audit.refuse({ principal: null, claimedName, origin }, refused)
  }
}

/** Redirects within this origin. The browser keeps the fragment, which it never sends to a server. */
const toWantedPage = (reply: FastifyReply): FastifyReply =>
  reply.header('cache-control', 'no-store').redirect('/ui/', 303)

function sendStep(
  reply: FastifyReply,
  { next, app }: HalfLogin,
  { status, ...page }: { step: string; problem: string | null; status: number }
): FastifyReply {
  return sendSmallPage(reply, status, next === 'code' ? codePage(page) : setUpPage({ ...page, app: app! }))
}

function sendSmallPage(reply: FastifyReply, status: number, html: string, policy = SMALL_PAGE_POLICY): FastifyReply {
  return (
    reply
      .code(status)
      // With `no-referrer`, browsers would send `Origin: null` with the form, which the origin check rejects.
      .header('referrer-policy', 'same-origin')
      .header('content-security-policy', policy)
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(html)
  )
}

const stepCookiesOf = (request: FastifyRequest): string[] => cookiesOf('step', request).slice(0, COOKIES_MAX)

const stepOf = (cookie: string): string => hashToken(cookie).slice(0, STEP_DIGITS)

/** null deletes the cookie. */
function setStepCookie(request: FastifyRequest, reply: FastifyReply, cookie: string | null): void {
  const maxAgeSeconds = cookie === null ? 0 : STEP_MS / 1_000
  sendCookie('step', { request, reply }, { value: cookie ?? '', maxAgeSeconds })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
