import { isSameSecret } from './secrets.ts'

export interface BasicCredentials {
  username: string
  password: string
}

/** Reads `Authorization: Basic …` (RFC 7617); null when there is none or it is malformed. UTF-8, as Scrapyd compares. */
export function parseBasic(header: string | undefined): BasicCredentials | null {
  const match = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header ?? '')
  if (match === null) return null
  const text = Buffer.from(match[1] as string, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon === -1 ? null : { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** Both parts are always compared, so that the time does not tell which one was wrong. */
export function areSameCredentials(given: BasicCredentials, expected: BasicCredentials): boolean {
  const sameUsername = isSameSecret(given.username, expected.username)
  const samePassword = isSameSecret(given.password, expected.password)
  return sameUsername && samePassword
}
