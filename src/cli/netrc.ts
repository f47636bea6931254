import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isForeign, othersMayRead } from '../engine/runtime/file-trust.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'

export interface NetrcEntry {
  username: string
  password: string
}

/**
 * Where `.netrc` is: the path in the variable `NETRC`, as in curl and Python's requests, otherwise in the home
 * directory.
 */
export interface NetrcPlace {
  homeDirectory: string
  environment: Record<string, string | undefined>
}

/**
 * Finds a host in `~/.netrc` like scrapyd-deploy: ignores the port and uses `default` for other hosts. Returns null if
 * no entry applies. Throws if others can read the file or it cannot be parsed.
 */
export function findInNetrc(hostname: string, { homeDirectory, environment }: NetrcPlace): NetrcEntry | null {
  const path = environment['NETRC'] || join(homeDirectory, '.netrc')
  if (!existsSync(path)) return null
  const entries = parseNetrc(readNetrc(path), path)
  const found = entries.get(hostname.replace(/^\[|\]$/g, '')) ?? entries.get('')
  if (found === undefined) return null
  // An anonymous entry has no secret, and Python's netrc skips the check too.
  if (found.username !== 'anonymous') refuseIfShared(path)
  return found
}

function readNetrc(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ScrapdeckError('BAD_INPUT', sentence('cli.cannot_read', { path, error: (error as Error).message }), {
      cause: error
    })
  }
}

function refuseIfShared(path: string): void {
  const info = statSync(path)
  if (isForeign(info)) {
    throw new ScrapdeckError('UNAUTHORIZED', sentence('cli.netrc_of_another_user', { path }))
  }
  if (othersMayRead(info)) {
    throw new ScrapdeckError('UNAUTHORIZED', sentence('cli.netrc_open_to_others', { path }))
  }
}

/** Maps hosts to entries, with the `default` entry under ''. Follows Python's rules for quotes and macros. */
export function parseNetrc(text: string, path = '.netrc'): Map<string, NetrcEntry> {
  const withoutMacros = `${text}\n\n`.replaceAll(/(^|\s)macdef[ \t]+\S+[^\n]*\n(?:[^\n]+\n)*\n/g, '$1')
  const withoutComments = withoutMacros.replaceAll(/^[ \t]*#.*$/gm, '')
  const words = [...withoutComments.matchAll(/"((?:\\.|[^"\\])*)"|((?:\\.|[^\s\\])+)/gs)].map(([, quoted, plain]) => ({
    text: (quoted ?? plain ?? '').replaceAll(/\\(.)/gs, '$1'),
    isComment: quoted === undefined && plain!.startsWith('#')
  }))
  const entries = new Map<string, NetrcEntry>()
  let entry: NetrcEntry | null = null
  for (let at = 0; at < words.length; at += 1) {
    const { text: word, isComment } = words[at]!
    if (isComment) continue
    const value = words[at + 1]?.text
    if (word === 'default') entries.set('', (entry = { username: '', password: '' }))
    else if (value === undefined) throw notUnderstood(path, word)
    else if (word === 'machine') entries.set(value, (entry = { username: '', password: '' }))
    else if (entry === null) throw notUnderstood(path, word)
    else if (word === 'login' || word === 'user') entry.username = value
    else if (word === 'password') entry.password = value
    else if (word !== 'account') throw notUnderstood(path, word)
    if (word !== 'default') at += 1
  }
  return entries
}

/** Does not show the word, because it may be a misplaced password. */
function notUnderstood(path: string, word: string): ScrapdeckError {
  const shown = /^(machine|login|user|password|account|macdef)$/.test(word)
    ? `"${word}" has nothing behind it`
    : 'a word stands where machine, default, login, password or account was expected'
  return new ScrapdeckError('BAD_INPUT', sentence('cli.netrc_not_understood', { path, shown }))
}
