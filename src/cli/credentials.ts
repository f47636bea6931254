import { type Stats, statSync } from 'node:fs'
import { credentialsFile, readCredentials, type StoredCredentials } from '../engine/runtime/credentials-file.ts'
import { findOwner, mayBePlanted } from '../engine/runtime/file-trust.ts'
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

/**
 * Throws UNAUTHORIZED if they are another user's, NOT_FOUND if there are none, DATA_DIRECTORY_UNUSABLE if they are
 * damaged. `look`: the file's owner; undefined if it does not exist.
 */
export function requireCredentials(
  dataDirectory: string,
  look: (file: string) => Pick<Stats, 'uid'> | undefined = (file) => statSync(file, { throwIfNoEntry: false })
): StoredCredentials {
  const file = credentialsFile(dataDirectory)
  try {
    const info = look(file)
    if (info !== undefined && mayBePlanted(info)) {
      const why = 'that user would choose where your commands go'
      throw notThisUsers(`${file} belongs to another user (${findOwner(info)}), so it is not used: ${why}.`)
    }
    const credentials = readCredentials(dataDirectory)
    if (credentials !== null) return credentials
  } catch (error) {
    if (!isDenied(error)) throw error
    throw notThisUsers(`${file} can be read only by the user that the service runs as.`, error)
  }
  throw new ScrapdeckError(
    'NOT_FOUND',
    `There are no credentials in ${dataDirectory} yet. Start the service once: npm run serve -- --data ${dataDirectory}`
  )
}

function notThisUsers(what: string, cause?: unknown): ScrapdeckError {
  const next = 'Run this as that user, or name the service with --url.'
  return new ScrapdeckError('UNAUTHORIZED', `${what} ${next}`, { cause })
}

/** By the system, for this file or a directory above it. */
function isDenied(error: unknown): boolean {
  const { code, cause } = Object(error) as { code?: unknown; cause?: unknown }
  return code === 'EACCES' || code === 'EPERM' || (cause !== undefined && isDenied(cause))
}

/** Python's ConfigParser treats `%` as the start of a reference. */
function escapeConfig(value: string): string {
  return value.replaceAll('%', '%%')
}
