import { readFileSync } from 'node:fs'
import { ScrapdeckError } from '../shared/errors.ts'

/** The first line of a file with the password of a database. Throws BAD_INPUT. */
export function readPasswordFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').split(/\r?\n/)[0]!
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    const text = `The password file ${path} of the database cannot be read (${code})`
    throw new ScrapdeckError('BAD_INPUT', text, { cause: error })
  }
}
