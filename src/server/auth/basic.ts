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

/** Always compares both parts, so that timing does not reveal which one was wrong. */
export function createCredentialsCheck(expected: BasicCredentials): (given: BasicCredentials) => boolean {
  const isUsername = createSecretCheck(expected.username)
  const isPassword = createSecretCheck(expected.password)
  return (given) => {
    const sameUsername = isUsername(given.username)
    const samePassword = isPassword(given.password)
    return sameUsername && samePassword
  }
}
