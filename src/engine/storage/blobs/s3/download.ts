import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/storage.ts'
import type { S3Client } from './s3-client.ts'
import { hasStatus, isGone, S3Error } from './s3-failure.ts'

export interface S3Object {
  sizeBytes: number
  etag: string
  /** null: another program wrote the object. */
  sha256: string | null
  /** Measured by the server's clock. */
  ageMs: number
}

const RESUMES = 4

/**
 * Downloads the object to `path`, resumes interrupted transfers, and checks the hash. Rejects with S3Error, the
 * disk's error, or BLOB_DAMAGED.
 */
export async function download(
  client: S3Client,
  { key, name, path, object }: { key: string; name: string; path: string; object: S3Object }
): Promise<void> {
  const { sizeBytes, etag } = object
  const hash = createHash('sha256')
  await using file = await open(path, 'wx', 0o600)
  let at = 0
  for (let breaks = 0; at < sizeBytes; ) {
    const before = at
    try {
      // All pieces must be from the same object, which can be replaced during the download.
      const headers = { 'if-match': etag, ...(at > 0 ? { range: `bytes=${at}-` } : {}) }
      const answer = await client.stream({ operation: 'get', method: 'GET', key, headers })
      if (at > 0 && answer.status !== 206) {
        answer.body.destroy()
        throw damaged(name, 'the server ignores ranges')
      }
      for await (const piece of answer.body as AsyncIterable<Buffer>) {
        client.countReceived(piece.length)
        if (at + piece.length > sizeBytes) throw damaged(name, 'it is longer than its size')
        await file.write(piece)
        hash.update(piece)
        at += piece.length
      }
      if (at === before) throw damaged(name, 'it ends too early')
    } catch (error) {
      // The client has already retried what it can retry. Only interrupted bodies are resumed here.
      if (error instanceof S3Error || error instanceof ScrapdeckError || isOfDisk(error) || ++breaks > RESUMES)
        throw error
    }
  }
  const expected = expectedSha256(name, object)
  if (expected !== null && hash.digest('hex') !== expected)
    throw damaged(name, 'its content does not match its checksum')
  await file.sync()
}

/** Rejects with S3Error, with status 412 if the object was replaced. */
export async function readRange(
  client: S3Client,
  { key, name, object }: { key: string; name: string; object: S3Object },
  offset: number,
  length: number
): Promise<Uint8Array> {
  const wanted = Math.min(length, object.sizeBytes - offset)
  if (wanted <= 0) return new Uint8Array(0)
  for (let breaks = 0; ; ) {
    const bytes = Buffer.allocUnsafe(wanted)
    let filled = 0
    try {
      const range = `bytes=${offset}-${offset + wanted - 1}`
      const headers = { 'if-match': object.etag, range }
      const answer = await client.stream({ operation: 'get_range', method: 'GET', key, headers })
      if (answer.status !== 206 && wanted !== object.sizeBytes) {
        answer.body.destroy()
        throw damaged(name, 'the server ignores ranges')
      }
      for await (const piece of answer.body as AsyncIterable<Buffer>) {
        client.countReceived(piece.length)
        if (filled + piece.length > wanted) throw damaged(name, 'the server sent more than was asked for')
        piece.copy(bytes, filled)
        filled += piece.length
      }
      if (filled === wanted) return bytes
      if (++breaks > RESUMES) throw damaged(name, 'the server sent less than was asked for')
    } catch (error) {
      if (error instanceof S3Error || error instanceof ScrapdeckError || ++breaks > RESUMES) throw error
    }
  }
}

/** An egg is named after its hash. Other objects have the hash in their metadata. */
export const expectedSha256 = (name: string, { sha256 }: Pick<S3Object, 'sha256'>): string | null =>
  /^eggs\/([0-9a-f]{64})$/.exec(name)?.[1] ?? sha256

export const isAnotherByNow = (error: unknown): boolean => isGone(error) || hasStatus(error, 412)

export function damaged(name: string, what: string): ScrapdeckError {
  const text = sentence('storage.blob_damaged', { name, what })
  return new ScrapdeckError('BLOB_DAMAGED', text)
}

const isOfDisk = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EACCES', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '')
