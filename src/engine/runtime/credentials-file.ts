import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'
import type { Random } from './random.ts'

/** Checked without zod, because the command line would load zod only for this. */
export interface StoredCredentials {
  username: string
  password: string
}

/**
 * Returns the `given` credentials for clients, otherwise those in `<directory>/credentials.json`, otherwise new ones.
 * Stores them in that file. Throws BAD_INPUT for credentials that Basic authentication cannot carry, and
 * DATA_DIRECTORY_UNUSABLE for a damaged file.
 */
export function readOrCreateCredentials(
  directory: string,
  random: Random,
  given?: StoredCredentials
): StoredCredentials {
  if (given !== undefined) checkGiven(given)
  const kept = readCredentials(directory)
  const credentials = given ?? kept ?? { username: 'scrapdeck', password: random.hex(16) }
  if (kept?.username !== credentials.username || kept.password !== credentials.password) {
    writeCredentials(directory, credentials)
  }
  return credentials
}

export const credentialsFile = (directory: string): string => join(directory, 'credentials.json')

/** null: none have been created yet. */
export function readCredentials(directory: string): StoredCredentials | null {
  const file = credentialsFile(directory)
  if (!existsSync(file)) return null
  try {
    const { username, password } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    if (typeof username !== 'string' || typeof password !== 'string') throw new TypeError('Both must be texts')
    if (username === '' || password === '') throw new TypeError('Neither may be empty')
    return { username, password }
  } catch (error) {
    throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', sentence('storage.credentials_unreadable', { file }), {
      cause: error
    })
  }
}

function checkGiven({ username, password }: StoredCredentials): void {
  if (username === '' || password === '') {
    throw new ScrapdeckError('BAD_INPUT', sentence('storage.credentials_empty'))
  }
  if (username.includes(':')) {
    throw new ScrapdeckError('BAD_INPUT', sentence('storage.user_name_with_colon'))
  }
}

function writeCredentials(directory: string, credentials: StoredCredentials): void {
  const file = credentialsFile(directory)
  const temporary = `${file}.new`
  writeFileSync(temporary, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
  renameSync(temporary, file)
}
