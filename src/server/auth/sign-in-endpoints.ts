import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Engine } from '../../engine/index.ts'
import type { Grant } from '../../engine/access/sign-ins.ts'
import { SignInRequester } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { DEVICE_PATH, POLL_SECONDS, showUserCode, TOKEN_PATH } from '../../shared/sign-in.ts'
import { toWireError } from '../../shared/wire-errors.ts'
import { originOf } from '../audit-origin.ts'
import { fieldsOf } from '../forms/receive-form.ts'
import { addressOf, clientOf } from './client-address.ts'
import { FOR_READERS } from './route-permissions.ts'

export interface SignInEndpointsOptions {
  access: Pick<Engine['access'], 'createToken'>
  signIns: Engine['signIns']
  audit: Pick<Engine['audit'], 'perform' | 'refuse'>
}

const FIELD_MAX = 200

/**
 * Programs sign in here (docs/http.md), before they have credentials. The paths are below `/ui`, so that they use its
 * form parser.
 */
export function signInEndpoints(app: FastifyInstance, options: SignInEndpointsOptions): void {
  const { signIns, audit } = options

  app.post(DEVICE_PATH.slice('/ui'.length), FOR_READERS, (request, reply) =>
    answer(reply, async () => {
      const field = fieldsOf(request)
      const { data: requester } = SignInRequester.safeParse({
        client: field('client'),
        host: field('host'),
        user: field('user')
      })
      if (requester === undefined) throw new ScrapdeckError('BAD_INPUT', sentence('server.sign_in_client_missing'))
      const { userCode, ...begun } = signIns.begin(requester, clientOf(addressOf(request)))
      return { ...begun, userCode: showUserCode(userCode), intervalSeconds: POLL_SECONDS }
    })
  )

  app.post(TOKEN_PATH.slice('/ui'.length), FOR_READERS, (request, reply) =>
    answer(reply, async () => {
      const field = fieldsOf(request)
      const [code, verifier, redirectUri, deviceCode] = (
        ['code', 'verifier', 'redirectUri', 'deviceCode'] as const
      ).map((name) => field(name).slice(0, FIELD_MAX)) as [string, string, string, string]
      if (code === '' && deviceCode === '')
        throw new ScrapdeckError('BAD_INPUT', sentence('server.sign_in_code_missing'))
      try {
        if (code !== '') return await tokenOf(options, signIns.redeem({ code, verifier, redirectUri }), request)
        const polled = signIns.poll(deviceCode)
        if (polled.is === 'granted') return await tokenOf(options, polled.grant, request)
        void reply.code(202)
        return { pending: true }
      } catch (error) {
        if (error instanceof ScrapdeckError && error.code === 'SIGN_IN_FAILED') {
          const actor = { principal: null, claimedName: 'a program', origin: originOf(request, 'login') }
          const sender = clientOf(addressOf(request))
          await audit.refuse(actor, { operation: 'signIns.redeem', input: null, code: error.code, sender })
        }
        throw error
      }
    })
  )
}

/** The audit entry contains the user who approved the sign-in, and the program's address. */
async function tokenOf({ access, audit, signIns }: SignInEndpointsOptions, grant: Grant, request: FastifyRequest) {
  const { by, token: wanted } = grant
  const { secret, token } = await audit.perform(
    { principal: by, origin: originOf(request, 'login') },
    { operation: 'tokens.create', input: wanted, writes: true },
    () => access.createToken(by, wanted, () => signIns.requireAllowed(grant))
  )
  return { token: secret, tokenId: token.id, userName: by.name, role: token.role, expiresAtMs: token.expiresAtMs }
}

async function answer(reply: FastifyReply, work: () => Promise<object>): Promise<FastifyReply> {
  reply.type('application/json; charset=utf-8')
  try {
    const body = await work()
    return await reply.send(JSON.stringify(body))
  } catch (error) {
    if (!(error instanceof ScrapdeckError)) throw error
    const wire = toWireError(error)
    if (error.code === 'TOO_MANY_REQUESTS') reply.header('retry-after', String(error.data['retryAfterSeconds']))
    return reply.code(wire.status).send(JSON.stringify(wire.toJSON()))
  }
}
