import { randomBytes } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { idOfKey, KEY_BYTES, parseEncryptionKeys } from '../engine/runtime/encryption-keys.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'
import type { Sentence } from '../shared/texts/sentence.ts'

/** A `first` key encrypts from now on. A `last` key only decrypts, until all engines have it. */
export type KeyPlace = 'first' | 'last'

/**
 * Adds a key to a file. If `place` is null, creates the file, which must not exist yet. Returns the id of the key,
 * never the key. Rejects with BAD_INPUT or ENCRYPTION_KEYS_UNUSABLE.
 */
export async function makeKey(path: string, place: KeyPlace | null, nowMs: number): Promise<string> {
  const key = randomBytes(KEY_BYTES)
  const id = idOfKey(key)
  const lines = `# ${id}, made ${new Date(nowMs).toISOString().slice(0, 10)}\n${key.toString('hex')}\n`
  if (place === null) {
    await writeNew(path, lines)
    return id
  }
  const before = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw refused(sentence('cli.key_file_unreadable', { path, errorCode: String(error.code) }))
  })
  // Throws if the file does not contain keys, so that no key is added to another kind of file.
  parseEncryptionKeys(before, path)
  const kept = before.endsWith('\n') ? before : `${before}\n`
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await writeNew(draft, place === 'first' ? lines + kept : kept + lines)
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
  return id
}

/** Syncs the file and its directory, because losing a key in a power cut would lose everything encrypted with it. */
async function writeNew(path: string, text: string): Promise<void> {
  try {
    await using file = await open(path, 'wx', 0o600)
    await file.writeFile(text)
    await file.sync()
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw refused(sentence('cli.key_file_exists', { path }))
    throw refused(sentence('cli.key_file_unwritable', { path, errorCode: code }))
  }
  if (process.platform === 'win32') return
  await using folder = await open(dirname(path))
  await folder.sync()
}

const refused = (text: Sentence) => new ScrapdeckError('BAD_INPUT', text)
