import { exec } from 'node:child_process'
import { hkdfSync, randomBytes } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'
import type { Sentence } from '../../shared/texts/sentence.ts'
import { othersMayRead } from './file-trust.ts'

export const KEY_BYTES = 32
export const KEY_ID_BYTES = 8
const KEYS_MAX = 100
const TEXT_MAX_BYTES = 65_536
const COMMAND_MAX_MS = 30_000
const HEX = new RegExp(`^[0-9a-fA-F]{${KEY_BYTES * 2}}$`)
const LOST = new RegExp(`^lost ([0-9a-f]{${KEY_ID_BYTES * 2}})$`)

/** The source of the keys for stored files. At most one of the two fields is set. */
export interface EncryptionOptions {
  keyFile: string | null
  /** A command that prints the content of a key file. Runs in the system's shell, as this user. */
  keyCommand: string | null
}

export interface EncryptionKey {
  /** Derived from the key, so that an id never means two keys. */
  id: string
  bytes: Buffer
}

export interface EncryptionKeys {
  /** Encrypts new files. null: nothing is encrypted. */
  newest: EncryptionKey | null
  ids: readonly string[]
  /** The keys that the operator declared lost. Files encrypted with them cannot be read. */
  lostIds: readonly string[]
  /** Throws ENCRYPTION_KEY_MISSING. `what` names the data that needs the key. */
  find(id: string, what: string): Buffer
}

export const NO_KEYS: EncryptionKeys = keysOf([], [])

/** Creates a key that only this process has, for files that no later process reads. */
export function keysOfThisProcess(): EncryptionKeys {
  const bytes = randomBytes(KEY_BYTES)
  return keysOf([{ id: idOfKey(bytes), bytes }], [])
}

export const idOfKey = (bytes: Uint8Array): string =>
  Buffer.from(hkdfSync('sha256', bytes, '', 'scrapdeck encryption key id', KEY_ID_BYTES)).toString('hex')

/** Rejects with ENCRYPTION_KEYS_UNUSABLE, so that no engine starts without its keys. */
export async function openEncryptionKeys(options: EncryptionOptions | null | undefined): Promise<EncryptionKeys> {
  const { keyFile = null, keyCommand = null } = options ?? {}
  if (keyFile !== null) return parseEncryptionKeys(await readKeyFile(keyFile), keyFile)
  if (keyCommand !== null) return parseEncryptionKeys(await runKeyCommand(keyCommand), 'The output of the key command')
  return NO_KEYS
}

/**
 * Parses one key per line, newest first, as 64 hexadecimal digits or base64 of 32 bytes, and `lost ID` for a lost key.
 * Skips empty lines and lines that start with #. Throws ENCRYPTION_KEYS_UNUSABLE, which never quotes a line.
 */
export function parseEncryptionKeys(text: string, source: string): EncryptionKeys {
  const keys: EncryptionKey[] = []
  const lostIds: string[] = []
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim()
    if (line === '' || line.startsWith('#')) continue
    const lostId = LOST.exec(line)?.[1]
    const bytes = HEX.test(line) ? Buffer.from(line, 'hex') : Buffer.from(line, 'base64')
    if (lostId !== undefined) lostIds.push(lostId)
    // Node ignores characters that are not base64, so only text that Node itself would write is accepted.
    else if (bytes.length === KEY_BYTES && (HEX.test(line) || bytes.toString('base64') === line))
      keys.push({ id: idOfKey(bytes), bytes })
    else throw unusable(sentence('storage.key_line_invalid', { line: index + 1, source }))
  }
  if (keys.length > KEYS_MAX) throw unusable(sentence('storage.too_many_keys', { source, max: KEYS_MAX }))
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw unusable(sentence('storage.key_twice', { source }))
  if (keys.length === 0) throw unusable(sentence('storage.no_key', { source }))
  return keysOf(keys, lostIds)
}

function keysOf(keys: readonly EncryptionKey[], lostIds: readonly string[]): EncryptionKeys {
  const known = new Map(keys.map(({ id, bytes }) => [id, bytes]))
  return {
    newest: keys[0] ?? null,
    ids: [...known.keys()],
    lostIds,
    find(id, what) {
      const bytes = known.get(id)
      if (bytes !== undefined) return bytes
      throw missingKey(id, what, lostIds.includes(id))
    }
  }
}

export function missingKey(id: string, what: string, isLost = false): ScrapdeckError {
  const next = sentence(isLost ? 'storage.key_is_lost' : 'storage.add_key')
  const text = sentence('storage.encryption_key_missing', { what, id, next })
  return new ScrapdeckError('ENCRYPTION_KEY_MISSING', text, { data: { keyId: id } })
}

async function readKeyFile(path: string): Promise<string> {
  try {
    const info = await stat(path)
    if (othersMayRead(info)) throw unusable(sentence('storage.key_file_not_private', { path }))
    if (info.size > TEXT_MAX_BYTES) throw unusable(sentence('storage.key_file_too_large', { path }))
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof ScrapdeckError) throw error
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw unusable(sentence('storage.key_file_unreadable', { path, code }), error)
  }
}

/** Errors must not quote the output or the command, because both may contain secrets. */
async function runKeyCommand(command: string): Promise<string> {
  try {
    const limits = { timeout: COMMAND_MAX_MS, maxBuffer: TEXT_MAX_BYTES, windowsHide: true }
    return (await promisify(exec)(command, limits)).stdout
  } catch (error) {
    const { code, killed } = error as { code?: number | string; killed?: boolean }
    const how =
      killed === true
        ? sentence('storage.command_took_too_long', { seconds: COMMAND_MAX_MS / 1_000 })
        : sentence('storage.command_failed', { code: code ?? null })
    throw unusable(sentence('storage.key_command_failed', { how }))
  }
}

function unusable(text: Sentence, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('ENCRYPTION_KEYS_UNUSABLE', text, { cause })
}

const PLAIN = 'plain'

/**
 * Returns the key record to store on this start: the newest key, other keys that may have encrypted stored data, and
 * `plain` if some data may be unencrypted. null: nothing has ever been encrypted. Throws ENCRYPTION_KEY_MISSING if a
 * used key is missing, because the engine could not read all of its data.
 */
export function recordKeys(before: string | null, keys: EncryptionKeys): string | null {
  const used = (before ?? '').split(' ').filter((each) => each !== '')
  for (const id of used)
    if (id !== PLAIN && !keys.ids.includes(id) && !keys.lostIds.includes(id)) throw missingKey(id, 'What is stored')
  if (keys.newest === null) return before
  const { id } = keys.newest
  return [id, ...(before === null ? [PLAIN] : used.filter((each) => each !== id))].join(' ')
}

export const isAllSealed = (record: string, { newest }: EncryptionKeys): boolean => record === newest?.id
