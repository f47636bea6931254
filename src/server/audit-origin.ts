import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor, Audit, RequestOrigin } from '../engine/access/audit/audit.ts'
import type { AuditDoor } from '../shared/contract/index.ts'
import { isScrapdeckError } from '../shared/errors.ts'
import { maskTokens } from '../shared/secret-values.ts'
import { APP_HEADER } from '../shared/wire.ts'
import { addressOf, clientOf } from './auth/client-address.ts'
import { parseBasic } from './auth/secrets.ts'
import { isNodeRoute } from './nodes/node-endpoints.ts'

export const REQUEST_ID_HEADER = 'x-request-id'

/**
 * The prefix of all request ids of this process. Request ids are not secret, so they only need to be unique. Random
 * bytes for each request would cost more than creating a job.
 */
const OF_THIS_RUN = randomBytes(5).toString('hex')
let count = 0

/**
 * Fastify calls this for `request.id`. Returns the client's own id if it has a simple format and contains no token,
 * otherwise a new id.
 */
export function makeRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers[REQUEST_ID_HEADER]
  return typeof given === 'string' && /^[\w.:-]{1,64}$/.test(given) && maskTokens(given) === given
    ? given
    : `${OF_THIS_RUN}${(count += 1).toString(16).padStart(6, '0')}`
}

/** The number of hexadecimal digits of a session id that are shown. They are enough to distinguish sessions. */
export const SESSION_DIGITS = 12

export function originOf(request: FastifyRequest, door: AuditDoor): RequestOrigin {
  const { caller } = request
  const address = addressOf(request)
  const isFromSocket = address === 'socket'
  return {
    door: isFromSocket ? 'socket' : door,
    address: isFromSocket ? null : address,
    requestId: request.id,
    session: caller?.kind === 'session' ? caller.id.slice(0, SESSION_DIGITS) : null
  }
}

export const actorOf = (request: FastifyRequest, door: AuditDoor): Actor => ({
  principal: request.caller.principal,
  origin: originOf(request, door)
})

export function sendRequestId(request: FastifyRequest, reply: FastifyReply): void {
  reply.header(REQUEST_ID_HEADER, request.id)
}

const claimedNames = new WeakMap<IncomingMessage, string>()

/** Remembers the user name that a proxy stated, so that the audit log contains the name if the request is rejected. */
export const claimName = ({ raw }: FastifyRequest, name: string): void => void claimedNames.set(raw, name)

/** Changes users that an identity provider or a proxy vouches for. Adds an audit entry only if something changes. */
export const recordVouching = <T>(
  audit: Pick<Audit, 'perform'>,
  request: FastifyRequest,
  by: { operation: 'users.signIn' | 'users.endSessions'; claimedName: string },
  work: () => Promise<T>
): Promise<Awaited<Promise<T>>> =>
  audit.perform(
    { principal: null, claimedName: by.claimedName, origin: originOf(request, doorOf(request)) },
    { operation: by.operation, input: {}, writes: true, onlyChanges: true },
    work
  )

/**
 * Whether the request comes from the UI. Browsers send an Origin header with every write request. The desktop app sends
 * its own header to a remote engine.
 */
export const isFromApp = ({ caller, headers }: FastifyRequest): boolean =>
  caller?.kind === 'session' || headers.origin !== undefined || headers[APP_HEADER] !== undefined

function doorOf(request: FastifyRequest): AuditDoor {
  const { url } = request
  if (url.startsWith('/api/')) return url.startsWith('/api/rpc/') && isFromApp(request) ? 'ui' : 'api'
  return url.startsWith('/ui/login') ? 'login' : url.startsWith('/ui') ? 'ui' : 'scrapyd'
}

/** Rejections with these codes are recorded, because the caller's credentials do not allow the request. */
const RECORDED: ReadonlySet<string> = new Set(['ROLE_REQUIRED', 'PASSWORD_REQUIRED', 'SECOND_FACTOR_REQUIRED'])

/** Records rejections outside an operation, such as a wrong password. Ignores requests without credentials. */
export async function recordRefusal(
  audit: Pick<Audit, 'refuse'>,
  error: FastifyError | Error,
  request: FastifyRequest
): Promise<void> {
  if (!isScrapdeckError(error)) return
  const { code, data } = error
  const isWrong = code === 'UNAUTHORIZED' && data['credentials'] === 'wrong'
  if (!isWrong && !RECORDED.has(code)) return
  const { method, url, routeOptions, operation, headers } = request
  const path = url.split('?', 1)[0]!.slice(0, 200)
  const origin = originOf(request, doorOf(request))
  const principal = request.caller?.principal ?? null
  const named = claimedNames.get(request.raw)
  const claimedName = isNodeRoute(request) ? 'a node' : (named ?? parseBasic(headers.authorization)?.username)
  const client = clientOf(addressOf(request))
  await audit.refuse(
    { principal, origin, ...(claimedName !== undefined && { claimedName }) },
    {
      operation: operation?.name ?? `${method} ${routeOptions.url?.replace('*', '…') ?? '…'}`,
      input: { path },
      code,
      sender: named === undefined ? client : `${client} ${named}`
    }
  )
}
