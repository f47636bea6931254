import { z } from 'zod'
import { User } from './access.ts'
import { PasskeyId, ShownName, UserId } from './ids.ts'
import { read, write } from './operation.ts'

/** The caller's own password, required again because a browser may have been left unattended. */
const Current = z.object({ current: z.string().max(200) })

/** Shown only once, because only the hashes of the codes are stored. */
const RecoveryCodes = z.object({ recoveryCodes: z.array(z.string()) })

export const Passkey = z.object({
  id: PasskeyId,
  name: z.string(),
  host: z.string(),
  createdAtMs: z.number(),
  lastUsedAtMs: z.number().nullable()
})
export type Passkey = z.infer<typeof Passkey>

export const LoginMethods = z.object({
  /** Whether the user has a password on this Scrapdeck. Other users cannot have a second factor here. */
  hasPassword: z.boolean(),
  /** null: the user has no authenticator app. With one, the password alone is not enough. */
  authenticator: z.object({ createdAtMs: z.number(), recoveryCodesLeft: z.number().int() }).nullable(),
  passkeys: z.array(Passkey),
  /** Why no passkey can be added from the address of this request, or null. */
  passkeyProblem: z.string().nullable()
})
export type LoginMethods = z.infer<typeof LoginMethods>

const Bytes = z.string().max(20_000)

/** The browser's response when it created a passkey: `PublicKeyCredential.toJSON()`. */
const NewCredential = z.object({
  id: z.string().max(2_000),
  rawId: z.string().max(2_000),
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: Bytes,
    attestationObject: Bytes,
    transports: z.array(z.string().max(50)).max(20).optional()
  }),
  clientExtensionResults: z.record(z.string().max(100), z.unknown()).default({})
})
export type NewCredential = z.infer<typeof NewCredential>

const AGAIN = { tellsSecret: 'again' } as const

/** How the caller logs in. Requires a user with a password on this Scrapdeck. Rejects tokens. */
export const secondFactorsContract = {
  get: read('read', 'GET /users/me/second-factors', 'caller').output(LoginMethods),

  /** Returns the secret for an authenticator app (RFC 6238). The first code must confirm it within ten minutes. */
  beginAuthenticator: write('read', 'POST /users/me/authenticator', 'caller', AGAIN)
    .input(Current)
    .output(
      z.object({
        secret: z.string(),
        uri: z.string(),
        qrCode: z.string()
      })
    ),

  /** Enables the authenticator app, ends the caller's other sessions, and returns recovery codes. */
  confirmAuthenticator: write('read', 'POST /users/me/authenticator/confirm', 'caller', AGAIN)
    .input(z.object({ code: z.string().max(20) }))
    .output(RecoveryCodes),

  /** Disables the authenticator app, deletes the recovery codes, and ends the caller's other sessions. */
  removeAuthenticator: write('read', 'POST /users/me/authenticator/remove', 'caller')
    .input(Current)
    .output(z.object({ removed: z.boolean() })),

  renewRecoveryCodes: write('read', 'POST /users/me/recovery-codes', 'caller', AGAIN)
    .input(Current)
    .output(RecoveryCodes),

  /** Options for `navigator.credentials.create()`, valid for ten minutes and one passkey. */
  beginPasskey: write('read', 'POST /users/me/passkeys/begin', 'caller', AGAIN)
    .input(Current)
    .output(z.object({ options: z.record(z.string(), z.unknown()) })),

  addPasskey: write('read', 'POST /users/me/passkeys', 'caller')
    .input(z.object({ name: ShownName.max(100), credential: NewCredential }))
    .output(z.object({ passkey: Passkey })),

  removePasskey: write('read', 'POST /users/me/passkeys/{id}/remove', 'caller')
    .input(Current.extend({ id: PasskeyId }))
    .output(z.object({ removed: z.boolean() })),

  /** Removes the authenticator app, recovery codes and passkeys of a user, and ends the user's sessions. */
  reset: write('users.change', 'POST /users/{id}/reset-sign-in', 'service')
    .input(z.object({ id: UserId }))
    .output(z.object({ user: User }))
}
