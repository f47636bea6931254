import { createSecretCheck } from './secrets.ts'

export interface BasicCredentials {
  username: string
  password: string
}

/** Parses `Authorization: Basic …` (RFC 7617) as UTF-8, as Scrapyd does; null if missing or malformed. */
export function parseBasic(header: string | undefined): BasicCredentials | null {
  const match = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header ?? '')
  if (match === null) return null
  const text = Buffer.from(match[1] as string, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon === -1 ? null : { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** Compares both parts as one, so that timing does not reveal which one was wrong. */
export function createCredentialsCheck(expected: BasicCredentials): (given: BasicCredentials) => boolean {
  const isRight = createSecretCheck(joined(expected))
  return (given) => isRight(joined(given))
}

/** Unambiguous, whatever is in them. */
const joined = ({ username, password }: BasicCredentials) => `${username.length} ${username} ${password}`
