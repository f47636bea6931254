import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'
import { othersMayRead } from './file-trust.ts'
import { asSealedText, type SecretBox } from './secret-box.ts'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const FORM = 'v1.'
const KEY_TEXT = new RegExp(`^[0-9a-fA-F]{${KEY_BYTES * 2}}$`)

export interface FileSecretBox extends SecretBox {
  /** Derives another secret, which does not reveal the key. The same key and purpose always give the same secret. */
  deriveSecret(purpose: string): string
}

/**
 * For hosts without a keychain: AES-256-GCM with a key file that only its owner can read. Protects passwords in copies
 * of the database, but not from someone who can read the whole directory. Creates a missing key file. Rejects with
 * DATA_DIRECTORY_UNUSABLE.
 */
export async function openFileSecretBox(keyPath: string): Promise<FileSecretBox> {
  return boxOf(await readOrMakeKey(keyPath), keyPath, 'which only its owner can read')
}

/**
 * Uses a key file that the operator provides, such as a container's secret. Neither creates the file nor checks its
 * access rights. Rejects with DATA_DIRECTORY_UNUSABLE.
 */
export async function openNamedSecretBox(keyPath: string): Promise<FileSecretBox> {
  const text = await readFile(keyPath, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const problem = sentence('storage.encryption_key_unreadable', { keyPath, problem: error.code ?? error.message })
    throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', problem, { cause: error })
  })
  if (!KEY_TEXT.test(text.trim())) {
    throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', sentence('storage.encryption_key_invalid', { keyPath }))
  }
  return boxOf(Buffer.from(text.trim(), 'hex'), keyPath, 'which the configuration names')
}

/** Uses the configured key file, otherwise the one in the data directory. */
export function openSecretKey(dataDirectory: string, namedFile: string | null | undefined): Promise<FileSecretBox> {
  return namedFile == null ? openFileSecretBox(join(dataDirectory, 'secret.key')) : openNamedSecretBox(namedFile)
}

function boxOf(key: Buffer, keyPath: string, whose: string): FileSecretBox {
  return {
    store: 'file',
    description: `Encrypted with the key in ${keyPath}, ${whose}`,
    deriveSecret: (purpose) =>
      Buffer.from(hkdfSync('sha256', key, '', `scrapdeck ${purpose}`, KEY_BYTES)).toString('hex'),
    async seal(plainText) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const body = Buffer.concat([cipher.update(plainText, 'utf8'), cipher.final()])
      return asSealedText(FORM + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64'))
    },
    async open(sealed) {
      try {
        return unseal(key, sealed)
      } catch (error) {
        throw new ScrapdeckError('INTERNAL', sentence('storage.secret_of_another_key', { keyPath }), {
          cause: error
        })
      }
    }
  }
}

function unseal(key: Buffer, sealed: string): string {
  if (!sealed.startsWith(FORM)) throw new Error('unknown form')
  const bytes = Buffer.from(sealed.slice(FORM.length), 'base64')
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(tag)
  return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
}

async function readOrMakeKey(path: string): Promise<Buffer> {
  try {
    const key = (await readKey(path)) ?? (await makeKey(path))
    if (key.length === KEY_BYTES) return key
  } catch (error) {
    if (error instanceof ScrapdeckError) throw error
    throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', sentence('storage.key_file_unusable', { path }), {
      cause: error
    })
  }
  // Never overwrite the file, because everything encrypted with the real key would be lost.
  throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', sentence('storage.key_file_invalid', { path }))
}

async function readKey(path: string): Promise<Buffer | null> {
  try {
    await refuseWhenOthersCanRead(path)
    return Buffer.from((await readFile(path, 'utf8')).trim(), 'hex')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function refuseWhenOthersCanRead(path: string): Promise<void> {
  if (!othersMayRead(await stat(path))) return
  throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', sentence('storage.key_file_open_to_others', { path }))
}

/** Writes a draft, then links it into place. Linking fails if another process was first. */
async function makeKey(path: string): Promise<Buffer> {
  const key = randomBytes(KEY_BYTES)
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  try {
    {
      await using file = await open(draft, 'wx', 0o600)
      await file.writeFile(`${key.toString('hex')}\n`)
      await file.sync()
    }
    await link(draft, path)
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const theirs = await readKey(path)
    if (theirs === null) throw error
    return theirs
  } finally {
    await rm(draft, { force: true })
  }
}
