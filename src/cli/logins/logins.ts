import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isForeign, othersMayRead } from '../../engine/runtime/file-trust.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/cli.ts'
import type { Terminal } from '../client/terminal.ts'
import { defaultConfigDirectory } from '../default-directories.ts'
import { openKeychain } from './keychain.ts'

export interface Login {
  /** Without a trailing slash. */
  url: string
  userName: string
  /** null if the token does not expire. */
  expiresAtMs: number | null
  madeAtMs: number
  /** Absent if the token is in the keychain. */
  token?: string
}

const MAX = 200

/** Lists the newest login first. Throws UNAUTHORIZED if others can read the file, BAD_INPUT if it is damaged. */
export function listLogins(terminal: Terminal): Login[] {
  const path = fileOf(terminal)
  const info = statSync(path, { throwIfNoEntry: false })
  if (info === undefined) return []
  if (isForeign(info) || othersMayRead(info)) {
    const what = isForeign(info)
      ? 'belongs to another user'
      : `can be read by other users. Restrict it: chmod 600 ${path}`
    throw new ScrapdeckError('UNAUTHORIZED', sentence('cli.logins_not_used', { path, what }))
  }
  try {
    const { logins } = JSON.parse(readFileSync(path, 'utf8')) as { logins: Login[] }
    const areUsable = logins.every(({ url, userName }) => typeof url === 'string' && typeof userName === 'string')
    if (areUsable) return logins.toSorted((one, other) => other.madeAtMs - one.madeAtMs)
  } catch (cause) {
    throw damaged(path, cause)
  }
  throw damaged(path)
}

/** Returns the login and its token, or null if there is none for this address. Rejects like `listLogins`. */
export async function findLogin(url: string, terminal: Terminal): Promise<(Login & { token: string }) | null> {
  const login = listLogins(terminal).find((one) => one.url === url)
  if (login === undefined) return null
  if (login.token !== undefined) return { ...login, token: login.token }
  const keychain = await openKeychain(terminal.environment)
  const token = (await keychain?.read(url)) ?? null
  if (token !== null) return { ...login, token }
  throw new ScrapdeckError('UNAUTHORIZED', sentence('cli.token_in_keychain', { url }))
}

/** Replaces an earlier login for this address. Returns where it stored the token. */
export async function saveLogin(login: Login & { token: string }, terminal: Terminal): Promise<'keychain' | string> {
  const keychain = await openKeychain(terminal.environment)
  const { token, ...shown } = login
  const isKept = keychain !== null && (await keychain.write(login.url, token).then(...YES_OR_NO))
  const others = listLogins(terminal).filter(({ url }) => url !== login.url)
  write([isKept ? shown : login, ...others].slice(0, MAX), terminal)
  return isKept ? 'keychain' : fileOf(terminal)
}

export async function forgetLogin({ url, token }: Login, terminal: Terminal): Promise<void> {
  if (token === undefined) {
    await (await openKeychain(terminal.environment))?.remove(url)
  }
  const others = listLogins(terminal).filter((one) => one.url !== url)
  write(others, terminal)
}

const YES_OR_NO = [() => true, () => false] as const

const fileOf = ({ environment, homeDirectory }: Terminal): string =>
  join(defaultConfigDirectory({ platform: process.platform, environment, homeDirectory }), 'logins.json')

/** Replaces the whole file. Only this user can read it. */
function write(logins: Login[], terminal: Terminal): void {
  const path = fileOf(terminal)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(`${path}.new`, `${JSON.stringify({ logins }, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

const damaged = (path: string, cause?: unknown): ScrapdeckError =>
  new ScrapdeckError('BAD_INPUT', sentence('cli.logins_damaged', { path }), { cause })
