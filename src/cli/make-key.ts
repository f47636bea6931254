import { randomBytes } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { idOfKey, KEY_BYTES, parseEncryptionKeys } from '../engine/runtime/encryption-keys.ts'
import { ScrapdeckError } from '../shared/errors.ts'

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
    throw refused(`${path} cannot be read (${error.code}). Without --add, a new key file is made`)
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
    if (code === 'EEXIST') throw refused(`${path} is there already. Name another file, or add a key to it with --add`)
    throw refused(`${path} cannot be written (${code}). Name a file in a directory that exists`)
  }
  if (process.platform === 'win32') return
  await using folder = await open(dirname(path))
  await folder.sync()
}

const refused = (text: string) => new ScrapdeckError('BAD_INPUT', `${text}.`)
