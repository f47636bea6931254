import { join } from 'node:path'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { createAttemptLimiter } from './attempt-limiter.ts'
import { type BasicCredentials, createCredentialsCheck, parseBasic } from './basic.ts'
import { createOneTimeLinks, type OneTimeLinks } from './one-time-links.ts'
import { readSessionCookies } from './session-cookie.ts'
import { hashToken } from './secrets.ts'
import { openSessions, type Sessions } from './sessions.ts'

export interface Authenticator {
  sessions: Sessions
  links: OneTimeLinks
  hasSession(request: FastifyRequest): boolean
  /**
   * Throws UNAUTHORIZED unless the request has a session or the right Basic credentials. Returns an identifier of the
   * credential: stable per user name or session, and useless for logging in.
   */
  check(request: FastifyRequest): string
  /** Checks the login form. `blocked`: too many failed attempts from this client. */
  checkForm(client: string, given: BasicCredentials): 'right' | 'wrong' | 'blocked'
}

export function createAuthenticator(options: {
  credentials: BasicCredentials
  dataDirectory: string
  clock: Clock
  logger: Logger
}): Authenticator {
  const { credentials, clock, logger } = options
  const sessions = openSessions({ file: join(options.dataDirectory, 'sessions.json'), clock, logger })
  const formLimiter = createAttemptLimiter({ clock, maxFailuresPerMinute: 10 })
  // Higher than the form's: a poller with an outdated password must not lock out others behind the same address.
  const basicLimiter = createAttemptLimiter({ clock, maxFailuresPerMinute: 300 })
  const isRight = createCredentialsCheck(credentials)
  const findSession = (request: FastifyRequest) =>
    readSessionCookies(request.headers.host ?? '', request.headers.cookie).find(sessions.isValid)
  const hasSession = (request: FastifyRequest) => findSession(request) !== undefined
  return {
    sessions,
    links: createOneTimeLinks({ clock }),
    hasSession,
    check(request) {
      const session = findSession(request)
      if (session !== undefined) return `session:${hashToken(session)}`
      const given = parseBasic(request.headers.authorization)
      if (given !== null && !basicLimiter.isBlocked(request.ip)) {
        if (isRight(given)) return `user:${given.username}`
        basicLimiter.addFailure(request.ip)
      }
      throw new ScrapdeckError(
        'UNAUTHORIZED',
        'Send the user name and password that `npm run scrapdeck -- credentials` shows, or log in under /ui/.'
      )
    },
    checkForm(client, given) {
      if (formLimiter.isBlocked(client)) return 'blocked'
      if (isRight(given)) return 'right'
      formLimiter.addFailure(client)
      return 'wrong'
    }
  }
}
