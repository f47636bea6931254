import type { Sentence } from '../../../shared/texts/sentence.ts'
import type { NewCredential, UserId } from '../../../shared/contract/index.ts'
import type { Logger } from '../../runtime/logger.ts'
import { withReflection } from '../../runtime/with-reflection.ts'
import type { StoredPasskey } from '../../model/records.ts'

/** `origin` is like `https://deck.example.org`. Passkeys are bound to `host`. */
export interface PasskeySite {
  origin: string
  host: string
}

export interface NoPasskeySite {
  problem: Sentence
}

/** A login as the browser sends it: `PublicKeyCredential.toJSON()`. */
export interface PasskeyAnswer {
  id: string
  rawId: string
  type: 'public-key'
  response: { clientDataJSON: string; authenticatorData: string; signature: string; userHandle?: string | undefined }
  clientExtensionResults: Record<string, unknown>
}

type Library = typeof import('@simplewebauthn/server')
/** Loaded on first use, because loading takes half a second and 20 MB. */
const load = (): Promise<Library> => withReflection(() => import('@simplewebauthn/server'))

export const PASSKEY_MS = 10 * 60_000
/** The user must be verified by fingerprint, face or PIN, so that a passkey counts as two factors. */
const VERIFIED = { residentKey: 'required', userVerification: 'required' } as const

/** EdDSA, ES256 and RS256. To support newer algorithms, the library would query Node, which prints warnings. */
const ALGORITHMS = [-8, -7, -257]

const handleOf = (userId: UserId): Buffer<ArrayBuffer> => Buffer.from(userId, 'hex')

/** Options for `navigator.credentials.create()`. `others` are the user's other passkeys. */
export async function registrationOptions(
  { host }: PasskeySite,
  user: { id: UserId; name: string },
  others: readonly StoredPasskey[]
) {
  return (await load()).generateRegistrationOptions({
    rpName: 'Scrapdeck',
    rpID: host,
    userName: user.name,
    userDisplayName: user.name,
    userID: handleOf(user.id),
    timeout: PASSKEY_MS,
    attestationType: 'none',
    authenticatorSelection: VERIFIED,
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: others.filter((one) => one.host === host).map(({ credentialId }) => ({ id: credentialId }))
  })
}

/** Returns null unless a verified user created the passkey for this challenge. */
export async function verifyRegistration(
  credential: NewCredential,
  { site, challenge, logger }: { site: PasskeySite; challenge: string; logger: Logger }
): Promise<Pick<StoredPasskey, 'credentialId' | 'publicKey' | 'signCount'> | null> {
  try {
    const { verified, registrationInfo } = await (await load()).verifyRegistrationResponse({
      response: credential as never,
      expectedChallenge: challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS
    })
    if (!verified) return null
    const { id, publicKey, counter } = registrationInfo.credential
    return { credentialId: id, publicKey: Buffer.from(publicKey).toString('base64url'), signCount: counter }
  } catch (error) {
    logger.warn({ err: error }, 'A new passkey was refused')
    return null
  }
}

/** Options for `navigator.credentials.get()`. */
export async function loginOptions({ host }: PasskeySite) {
  return (await load()).generateAuthenticationOptions({
    rpID: host,
    timeout: PASSKEY_MS,
    userVerification: 'required',
    allowCredentials: []
  })
}

/** Resolves with the passkey's signature counter. null: the response is not valid. */
export async function verifyLogin(
  answer: PasskeyAnswer,
  passkey: StoredPasskey,
  { site, challenge, logger }: { site: PasskeySite; challenge: string; logger: Logger }
): Promise<number | null> {
  const { userHandle } = answer.response
  if (userHandle !== handleOf(passkey.userId).toString('base64url') || passkey.host !== site.host) return null
  try {
    const { verified, authenticationInfo } = await (await load()).verifyAuthenticationResponse({
      response: answer as never,
      expectedChallenge: challenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      credential: {
        id: passkey.credentialId,
        publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
        counter: passkey.signCount
      },
      requireUserVerification: true
    })
    return verified ? authenticationInfo.newCounter : null
  } catch (error) {
    logger.warn({ err: error, passkey: passkey.id }, 'A login with a passkey was refused')
    return null
  }
}
