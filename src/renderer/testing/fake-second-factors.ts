import { implement } from '@orpc/server'
import { renderSVG } from 'uqr'
import { contract, type Passkey, type LoginMethods, type User, type UserId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { branded } from '../../shared/testing/ids.ts'

const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const URI = `otpauth://totp/Scrapdeck:anna%20(deck.example.org)?issuer=Scrapdeck&secret=${SECRET}`
const RECOVERY_CODES = Array.from({ length: 10 }, (_, at) => `4f7q-9k2m-x0ab-c3d${at}`)
/** The only password and code that the fake accepts. */
export const FAKE_CURRENT = 'kestrel amber window'
export const FAKE_CODE = '492039'

/** `me` is null for the service's own password. */
export function createFakeSecondFactors({
  me,
  reset
}: {
  me: () => User | null
  reset: (id: UserId) => { user: User }
}) {
  const os = implement(contract).secondFactors
  const nowMs = Date.now()
  let authenticator: LoginMethods['authenticator'] = null
  const passkeys = new Map<Passkey['id'], Passkey>()
  const check = (current = FAKE_CURRENT) => {
    if (me() === null) throw new ScrapdeckError('BAD_INPUT', 'The service login has only its password')
    if (current === FAKE_CURRENT) return
    throw new ScrapdeckError('BAD_INPUT', 'The current password is wrong', { data: { field: 'current' } })
  }
  return {
    get: os.get.handler(() => ({
      hasPassword: me() !== null,
      authenticator,
      passkeys: [...passkeys.values()],
      passkeyProblem: null
    })),
    beginAuthenticator: os.beginAuthenticator.handler(({ input }) => {
      check(input.current)
      return { secret: SECRET, uri: URI, qrCode: renderSVG(URI, { pixelSize: 4, border: 3 }) }
    }),
    confirmAuthenticator: os.confirmAuthenticator.handler(({ input }) => {
      check()
      if (input.code !== FAKE_CODE) {
        throw new ScrapdeckError('BAD_INPUT', 'This code is wrong', { data: { field: 'code' } })
      }
      authenticator = { createdAtMs: nowMs, recoveryCodesLeft: RECOVERY_CODES.length }
      return { recoveryCodes: RECOVERY_CODES }
    }),
    removeAuthenticator: os.removeAuthenticator.handler(({ input }) => {
      check(input.current)
      const removed = authenticator !== null
      authenticator = null
      return { removed }
    }),
    renewRecoveryCodes: os.renewRecoveryCodes.handler(({ input }) => {
      check(input.current)
      return { recoveryCodes: RECOVERY_CODES }
    }),
    beginPasskey: os.beginPasskey.handler(({ input }) => {
      check(input.current)
      return { options: {} }
    }),
    addPasskey: os.addPasskey.handler(({ input: { name } }) => {
      check()
      const id = branded<Passkey['id']>(String(passkeys.size).padStart(32, 'c'))
      const passkey = { id, name, host: 'deck.example.org', createdAtMs: nowMs, lastUsedAtMs: null }
      passkeys.set(id, passkey)
      return { passkey }
    }),
    removePasskey: os.removePasskey.handler(({ input: { id, current } }) => {
      check(current)
      return { removed: passkeys.delete(id) }
    }),
    reset: os.reset.handler(({ input: { id } }) => reset(id))
  }
}
