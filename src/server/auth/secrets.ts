import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

export interface BasicCredentials {
  username: string
  password: string
}

/** Parses `Authorization: Basic …` (RFC 7617) as UTF-8, like Scrapyd. Returns null if missing or malformed. */
export function parseBasic(header: string | undefined): BasicCredentials | null {
  const match = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header ?? '')
  if (match === null) return null
  const text = Buffer.from(match[1] as string, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon === -1 ? null : { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** Compares name and password as one string, so that timing does not reveal which was wrong. */
export function createCredentialsCheck(expected: BasicCredentials): (given: BasicCredentials) => boolean {
  const isRight = createSecretCheck(joined(expected))
  return (given) => isRight(joined(given))
}

/** Includes the length of the name, so that different pairs never give the same string. */
const joined = ({ username, password }: BasicCredentials) => `${username.length} ${username} ${password}`

/** 256 bits, safe in URLs and cookies. */
export function createToken(): string {
  return randomBytes(32).toString('base64url')
}

export function hashToken(token: string): string {
  return hash('sha256', token)
}

/** The length to which secrets are padded. Longer secrets are compared by their hashes. */
const PADDED_BYTES = 512

/**
 * Checks a secret by comparing strings padded to the same length, so timing reveals neither the length nor the first
 * difference. Hashing both would take a twentieth of the time of a short request.
 */
export function createSecretCheck(secret: string): (given: string) => boolean {
  const expected = padded(secret)
  if (expected === null) {
    const expectedHash = hash('sha256', secret, 'buffer')
    return (given) => timingSafeEqual(hash('sha256', given, 'buffer'), expectedHash)
  }
  return (given) => {
    const bytes = padded(given)
    return bytes !== null && timingSafeEqual(bytes, expected)
  }
}

/**
 * Starts with the length, because strings that end with zeros would otherwise be ambiguous. Returns null if the string
 * is too long.
 */
function padded(text: string): Buffer | null {
  const bytes = Buffer.alloc(PADDED_BYTES)
  const length = Buffer.byteLength(text)
  if (length > PADDED_BYTES - 4) return null
  bytes.writeUInt32BE(length)
  bytes.write(text, 4)
  return bytes
}
