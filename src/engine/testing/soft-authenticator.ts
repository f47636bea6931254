import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type { PasskeyAnswer } from '../access/second-factor/webauthn.ts'
import type { NewCredential } from '../../shared/contract/index.ts'

/** Flags of the authenticator's data (WebAuthn, 6.1). */
const [PRESENT, VERIFIED, ATTESTED] = [0x01, 0x04, 0x40]

interface Signing {
  challenge: string
  origin?: string
  /** Whether the user was verified by fingerprint or PIN. Default: yes. */
  isVerified?: boolean
  signCount?: number
}

/** Creates the responses of a browser and its authenticator with a real key. Each part can be forged. */
export function createSoftAuthenticator({ origin, host }: { origin: string; host: string }) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'))
  /** COSE: EC2, ES256, P-256. */
  const coseKey = new Map<number, number | Uint8Array>([
    ...([
      [1, 2],
      [3, -7],
      [-1, 1]
    ] as const),
    [-2, bytes(x)],
    [-3, bytes(y)]
  ])
  const credentialId = randomBytes(16)
  const id = credentialId.toString('base64url')

  const clientData = (type: string, { challenge, origin: claimed = origin }: Signing) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: claimed, crossOrigin: false }))

  function authenticatorData(flags: number, { isVerified = true, signCount = 0 }: Signing): Buffer {
    const head = Buffer.alloc(5)
    head.writeUInt8(flags | PRESENT | (isVerified ? VERIFIED : 0), 0)
    head.writeUInt32BE(signCount, 1)
    return Buffer.concat([createHash('sha256').update(host).digest(), head])
  }

  return {
    id,

    register(signing: Signing): NewCredential {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(credentialId.length)
      const key = Buffer.from(isoCBOR.encode(coseKey))
      const data = Buffer.concat([authenticatorData(ATTESTED, signing), Buffer.alloc(16), length, credentialId, key])
      const attestation = isoCBOR.encode(
        new Map<string, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', new Uint8Array(data)]
        ]) as never
      )
      return {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData('webauthn.create', signing).toString('base64url'),
          attestationObject: Buffer.from(attestation).toString('base64url')
        }
      }
    },

    logIn(signing: Signing & { userId: string }): PasskeyAnswer {
      const client = clientData('webauthn.get', signing)
      const data = authenticatorData(0, signing)
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()])
      return {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: sign('sha256', signed, privateKey).toString('base64url'),
          userHandle: Buffer.from(signing.userId, 'hex').toString('base64url')
        }
      }
    }
  }
}
