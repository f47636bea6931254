import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/storage.ts'
import { type EncryptionKeys, KEY_BYTES, KEY_ID_BYTES } from '../../../runtime/encryption-keys.ts'

/**
 * An encrypted file is a header and frames of 64 KiB, each encrypted with AES-256-GCM. It follows the STREAM
 * construction (Hoang and others, "Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance", 2015)
 * with the parameters of age (age-encryption.org/v1: 64 KiB, a nonce of an 11-byte counter and a byte that marks the
 * last frame). Like Tink's AES-GCM-HKDF streaming, it uses a cipher that processors have instructions for. Each file
 * has its own key: HKDF-SHA-256 of the operator's key, a random salt and the file's name. Decryption therefore
 * rejects renamed files, and frames that were changed, moved, removed or taken from another file. It rejects
 * truncated files because they have no last frame.
 *
 *   magic and version (8) · id of the key (8) · salt (16) · frames: up to 65,536 bytes encrypted, then a tag (16)
 */
export const HEADER_BYTES = 32
export const FRAME_BYTES = 65_536
export const TAG_BYTES = 16
export const SEALED_FRAME_BYTES = FRAME_BYTES + TAG_BYTES
const MAGIC = Buffer.from('\x93SDSEAL\x01', 'latin1')
const SALT_BYTES = HEADER_BYTES - MAGIC.length - KEY_ID_BYTES
const NONCE_BYTES = 12
const CIPHER = 'aes-256-gcm'

/** The key of one encrypted file. Threads get it instead of the operator's keys. */
export interface FileSeal {
  key: Uint8Array
  name: string
}

export function newSeal(keys: EncryptionKeys, name: string): { header: Buffer; seal: FileSeal } {
  const { id, bytes } = keys.newest!
  const salt = randomBytes(SALT_BYTES)
  return { header: Buffer.concat([MAGIC, Buffer.from(id, 'hex'), salt]), seal: sealOf(bytes, salt, name) }
}

export const isSealed = (bytes: Uint8Array): boolean => MAGIC.equals(bytes.subarray(0, MAGIC.length))

/** Throws BLOB_DAMAGED or ENCRYPTION_KEY_MISSING. */
export function openHeader(keys: EncryptionKeys, name: string, header: Uint8Array): FileSeal {
  const salt = header.subarray(MAGIC.length + KEY_ID_BYTES, HEADER_BYTES)
  return sealOf(keys.find(keyIdOf(name, header), `The file ${name}`), salt, name)
}

/** Throws BLOB_DAMAGED. */
export function keyIdOf(name: string, header: Uint8Array): string {
  if (header.length < HEADER_BYTES || !isSealed(header))
    throw sealBroken(name, 'its header is not that of a sealed file')
  return Buffer.from(header.subarray(MAGIC.length, MAGIC.length + KEY_ID_BYTES)).toString('hex')
}

function sealOf(key: Buffer, salt: Uint8Array, name: string): FileSeal {
  return { key: new Uint8Array(hkdfSync('sha256', key, salt, `scrapdeck sealed file v1 ${name}`, KEY_BYTES)), name }
}

export function sealFrame({ key }: FileSeal, index: number, isLast: boolean, plain: Uint8Array): Buffer[] {
  const cipher = createCipheriv(CIPHER, key, nonceOf(index, isLast))
  return [cipher.update(plain), cipher.final(), cipher.getAuthTag()]
}

/** Throws BLOB_DAMAGED. */
export function openFrame({ key, name }: FileSeal, index: number, isLast: boolean, sealed: Uint8Array): Buffer {
  if (sealed.length < TAG_BYTES) throw sealBroken(name, 'it ends too early')
  const decipher = createDecipheriv(CIPHER, key, nonceOf(index, isLast), { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
  const plain = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES))
  try {
    decipher.final()
  } catch (error) {
    throw sealBroken(name, 'its content was changed, cut off or belongs to another file', error)
  }
  return plain
}

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeUIntBE(index, NONCE_BYTES - 7, 6)
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0
  return nonce
}

export interface FramePlan {
  frames: number
  plainBytes: number
}

/** Returns null if no encrypted file can have this size. Pure. */
export function planFrames(sealedBytes: number): FramePlan | null {
  const body = sealedBytes - HEADER_BYTES
  if (body < TAG_BYTES) return null
  const frames = Math.ceil(body / SEALED_FRAME_BYTES)
  const lastBytes = body - (frames - 1) * SEALED_FRAME_BYTES
  // Only an empty file has an empty frame.
  if (lastBytes < TAG_BYTES || (lastBytes === TAG_BYTES && frames > 1)) return null
  return { frames, plainBytes: body - frames * TAG_BYTES }
}

export function requireFrames(name: string, sealedBytes: number): FramePlan {
  const plan = planFrames(sealedBytes)
  if (plan === null) throw sealBroken(name, 'it was cut off')
  return plan
}

export const frameStart = (index: number): number => HEADER_BYTES + index * SEALED_FRAME_BYTES

export function sealBytes(keys: EncryptionKeys, name: string, plain: Uint8Array): Uint8Array {
  if (plain.length > FRAME_BYTES) throw new RangeError('more than one frame')
  const { header, seal } = newSeal(keys, name)
  // Copy into a separate buffer, because a message to a thread copies the whole buffer behind a view.
  return new Uint8Array(Buffer.concat([header, ...sealFrame(seal, 0, true, plain)]))
}

/** Throws BLOB_DAMAGED or ENCRYPTION_KEY_MISSING. */
export const openBytes = (keys: EncryptionKeys, name: string, sealed: Uint8Array): Buffer =>
  openFrame(openHeader(keys, name, sealed), 0, true, sealed.subarray(HEADER_BYTES))

export function sealBroken(name: string, what: string, cause?: unknown): ScrapdeckError {
  const text = sentence('storage.encrypted_file_damaged', { name, what })
  return new ScrapdeckError('BLOB_DAMAGED', text, { cause })
}
