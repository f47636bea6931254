import { readCredentials, type StoredCredentials } from '../engine/runtime/credentials-file.ts'
import { ScrapdeckError } from '../shared/errors.ts'

/** What `scrapdeck credentials` prints. */
export function describeCredentials(dataDirectory: string, address: string): string {
  const { username, password } = requireCredentials(dataDirectory)
  return `User name: ${username}
Password:  ${password}

For scrapyd-deploy, at the end of a project's scrapy.cfg (then: scrapyd-deploy scrapdeck):

[deploy:scrapdeck]
url = ${address}/
username = ${escapeConfig(username)}
password = ${escapeConfig(password)}
`
}

export function requireCredentials(dataDirectory: string): StoredCredentials {
  const credentials = readCredentials(dataDirectory)
  if (credentials !== null) return credentials
  throw new ScrapdeckError(
    'NOT_FOUND',
    `There are no credentials in ${dataDirectory} yet. Start the service once: npm run serve -- --data ${dataDirectory}`
  )
}

/** Python's ConfigParser treats `%` as the start of a reference. */
function escapeConfig(value: string): string {
  return value.replaceAll('%', '%%')
}
