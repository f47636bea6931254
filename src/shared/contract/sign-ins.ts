import { z } from 'zod'
import { CHALLENGE, LOOPBACK_REDIRECT, SIGN_IN_CLIENTS, type SignInClient } from '../sign-in.ts'
import { NewAccessToken } from './access.ts'
import { ShownName } from './ids.ts'
import { read, write } from './operation.ts'

/** A program that asks for a token. It says all of this itself. */
export const SignInRequester = z.object({
  client: z.enum(Object.keys(SIGN_IN_CLIENTS) as [SignInClient, ...SignInClient[]]),
  /** The computer that it runs on. */
  host: ShownName.max(64),
  /** The account that the program runs in there; empty: it does not say. */
  user: z.union([z.literal(''), ShownName.max(64)]).default('')
})
export type SignInRequester = z.infer<typeof SignInRequester>

/** As shown, or without its hyphen; in any case. */
const UserCode = z.string().regex(/^[A-Za-z]{4}-?[A-Za-z]{4}$/, 'A code has eight letters, such as WDJB-MJHT')

/** A sign-in that waits for a user to type its code. */
export const WaitingSignIn = SignInRequester.extend({
  /** Where it was begun. */
  address: z.string(),
  beganAtMs: z.number(),
  endsAtMs: z.number()
})
export type WaitingSignIn = z.infer<typeof WaitingSignIn>

export const SignInApproval = z.object({
  /** Where the token goes: to who has the verifier of this challenge, or to the program that shows this code. */
  to: z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('redirect'),
      requester: SignInRequester,
      redirectUri: z.string().regex(LOOPBACK_REDIRECT, 'must be http://127.0.0.1:PORT/callback'),
      challenge: z.string().regex(CHALLENGE, 'must be a SHA-256 in base64url')
    }),
    z.object({ kind: z.literal('code'), userCode: UserCode })
  ]),
  role: NewAccessToken.shape.role,
  projects: NewAccessToken.shape.projects,
  /** Such a token always expires. */
  expiresInDays: z.number().int().min(1).max(365).default(90)
})
export type SignInApproval = z.infer<typeof SignInApproval>

/** Programs that people sign in with their browser. All of it is refused unless the caller is a browser session. */
export const signInsContract = {
  /** Rejects with SIGN_IN_NOT_FOUND if none waits with this code. */
  get: read('read', 'GET /sign-ins/{userCode}', 'caller')
    .input(z.object({ userCode: UserCode }))
    .output(WaitingSignIn),

  /** The program gets a token of the caller. `code`: for the program at the redirect address, once, within a minute. */
  approve: write('read', 'POST /sign-ins', 'caller', { tellsSecret: 'again' })
    .input(SignInApproval)
    .output(z.object({ code: z.string().nullable() })),

  /** The program that shows this code gets no token. */
  deny: write('read', 'DELETE /sign-ins/{userCode}', 'caller')
    .input(z.object({ userCode: UserCode }))
    .output(z.object({ denied: z.literal(true) }))
}
