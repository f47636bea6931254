import type { NewCredential, UserId } from '../../../shared/contract/index.ts'
import type { Logger } from '../../runtime/logger.ts'
import { withReflection } from '../../runtime/with-reflection.ts'
import type { StoredPasskey } from '../../model/records.ts'

/** Where a browser shows Scrapdeck: `https://deck.example.org`, and its host, for which passkeys are made. */
export interface PasskeySite {
  origin: string
  host: string
}

/** Why there can be no passkeys where a request came from, for people. */
export interface NoPasskeySite {
  problem: string
}

/** As the browser sends a login: `PublicKeyCredential.toJSON()`. */
export interface PasskeyAnswer {
  id: string
  rawId: string
  type: 'public-key'
  response: { clientDataJSON: string; authenticatorData: string; signature: string; userHandle?: string | undefined }
  clientExtensionResults: Record<string, unknown>
}

type Library = typeof import('@simplewebauthn/server')
/** Loaded with the first passkey: it takes half a second and 20 MB. */
const load = (): Promise<Library> => withReflection(() => import('@simplewebauthn/server'))

/** How long a person may take. */
export const PASSKEY_MS = 10 * 60_000
/** The user has shown a finger, a face or a PIN: that makes a passkey two factors. */
const VERIFIED = { residentKey: 'required', userVerification: 'required' } as const

/** EdDSA, ES256 and RS256: to look for newer ones, the library asks Node, which prints warnings. */
const ALGORITHMS = [-8, -7, -257]

/** The owner of the passkey, as the authenticator stores it. */
const handleOf = (userId: UserId): Buffer<ArrayBuffer> => Buffer.from(userId, 'hex')

/** Options for `navigator.credentials.create()`. `others`: of the user, so that none is made twice in one place. */
export async function registrationOptions(
  { host }: PasskeySite,
  user: { id: UserId; name: string },
  others: readonly StoredPasskey[]
) {
  return (await load()).generateRegistrationOptions({
    ...{ rpName: 'Scrapdeck', rpID: host, userName: user.name, userDisplayName: user.name },
    ...{ userID: handleOf(user.id), timeout: PASSKEY_MS, attestationType: 'none', authenticatorSelection: VERIFIED },
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: others.filter((one) => one.host === host).map(({ credentialId }) => ({ id: credentialId }))
  })
}

/** null: it is not a passkey that was made here for this challenge, by a user who was verified. */
export async function verifyRegistration(
  credential: NewCredential,
  { site, challenge, logger }: { site: PasskeySite; challenge: string; logger: Logger }
): Promise<Pick<StoredPasskey, 'credentialId' | 'publicKey' | 'signCount'> | null> {
  try {
    const { verified, registrationInfo } = await (await load()).verifyRegistrationResponse({
      response: credential as never,
      ...{ expectedChallenge: challenge, expectedOrigin: site.origin, expectedRPID: site.host },
      ...{ requireUserVerification: true, supportedAlgorithmIDs: ALGORITHMS }
    })
    if (!verified) return null
    const { id, publicKey, counter } = registrationInfo.credential
    return { credentialId: id, publicKey: Buffer.from(publicKey).toString('base64url'), signCount: counter }
  } catch (error) {
    logger.warn({ err: error }, 'A new passkey was refused')
    return null
  }
}

/** Options for `navigator.credentials.get()`: any passkey of this host, which says itself whose it is. */
export async function loginOptions({ host }: PasskeySite) {
  return (await load()).generateAuthenticationOptions({
    ...{ rpID: host, timeout: PASSKEY_MS, userVerification: 'required', allowCredentials: [] }
  })
}

/** How often the passkey has signed by now, as it says; null: the answer does not count. */
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
      ...{ expectedChallenge: challenge, expectedOrigin: site.origin, expectedRPID: site.host },
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
