import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import pLimit from 'p-limit'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/storage.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { encryptionHeaders } from '../../../runtime/s3-address.ts'
import { GRACE_MS } from '../shared-blobs.ts'
import { hasStatus, S3Error } from './s3-failure.ts'
import type { S3Client } from './s3-client.ts'
import { elementsOf, encode, textOf } from './s3-xml.ts'

export const PART_BYTES = 8 * 1024 * 1024
/** The maximum number of parts. S3's own limit is 10,000. */
const PARTS_MAX = 9_000
const PARTS_AT_ONCE = 3
const HASH_PIECE_BYTES = 256 * 1024

/** The maximum duration of an upload. The row that refers to the blob is written right afterwards. */
export const UPLOAD_MAX_MS = 6 * 3_600_000

export const SHA256_HEADER = 'x-amz-meta-sha256'

export type Condition = { 'if-none-match': '*' } | { 'if-match': string } | Record<string, never>

export interface Content {
  sizeBytes: number
  sha256: string
  read(offset: number, length: number): Promise<Uint8Array>
}

export async function contentOf(bytes: Uint8Array): Promise<Content> {
  const digest = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
  const read = async (offset: number, length: number) => bytes.subarray(offset, offset + length)
  return { sizeBytes: bytes.length, sha256: Buffer.from(digest).toString('hex'), read }
}

/** Reads the file once to compute its checksum. The file must not change before the upload ends. */
export async function contentOfFile(path: string): Promise<Content> {
  const hash = createHash('sha256')
  await using file = await open(path)
  const buffer = Buffer.allocUnsafe(HASH_PIECE_BYTES)
  let sizeBytes = 0
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, sizeBytes)
    if (bytesRead === 0) break
    hash.update(buffer.subarray(0, bytesRead))
    sizeBytes += bytesRead
  }
  return {
    sizeBytes,
    sha256: hash.digest('hex'),
    async read(offset, length) {
      await using again = await open(path)
      const bytes = Buffer.allocUnsafe(length)
      const { bytesRead } = await again.read(bytes, 0, length, offset)
      if (bytesRead === length) return bytes
      throw new ScrapdeckError('INTERNAL', sentence('storage.file_became_shorter', { path }))
    }
  }
}

export const partBytesOf = (sizeBytes: number): number =>
  Math.max(PART_BYTES, Math.ceil(sizeBytes / PARTS_MAX / 1_048_576) * 1_048_576)

/** Returns the new object's ETag. Rejects with S3Error, with status 412 if the condition was not met. */
export async function upload(
  { client, clock }: { client: S3Client; clock: Pick<Clock, 'monotonicMs'> },
  key: string,
  content: Content,
  condition: Condition
): Promise<string> {
  const headers = {
    [SHA256_HEADER]: content.sha256,
    'content-type': 'application/octet-stream',
    ...encryptionHeaders(client.address)
  }
  if (content.sizeBytes <= PART_BYTES) {
    const body = await content.read(0, content.sizeBytes)
    const answer = await client.send({
      operation: 'put',
      method: 'PUT',
      key,
      headers: { ...headers, ...condition },
      body
    })
    return answer.headers['etag'] ?? ''
  }
  const begun = await client.send({
    operation: 'begin_upload',
    method: 'POST',
    key,
    query: { uploads: '' },
    headers
  })
  const uploadId = textOf(begun.text, 'UploadId')
  if (uploadId === null) throw notS3('begin_upload')
  try {
    const endMs = clock.monotonicMs() + UPLOAD_MAX_MS
    const parts = await uploadParts(client, key, uploadId, content, () => clock.monotonicMs() > endMs)
    const list = parts.map(
      (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${encode(etag)}</ETag></Part>`
    )
    const body = Buffer.from(`<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`)
    const ended = await client.send({
      operation: 'end_upload',
      method: 'POST',
      key,
      query: { uploadId },
      headers: { ...condition },
      body
    })
    return textOf(ended.text, 'ETag') ?? ''
  } catch (error) {
    await abortUpload(client, key, uploadId)
    throw error
  }
}

async function uploadParts(
  client: S3Client,
  key: string,
  uploadId: string,
  content: Content,
  isLate: () => boolean
): Promise<string[]> {
  const partBytes = partBytesOf(content.sizeBytes)
  const count = Math.ceil(content.sizeBytes / partBytes)
  const limit = pLimit(PARTS_AT_ONCE)
  const failed = new AbortController()
  const parts = Array.from({ length: count }, (_, index) =>
    limit(async () => {
      failed.signal.throwIfAborted()
      if (isLate()) throw new ScrapdeckError('BLOBS_UNUSABLE', sentence('storage.upload_took_too_long', { key }))
      const offset = index * partBytes
      const body = await content.read(offset, Math.min(partBytes, content.sizeBytes - offset))
      const query = { partNumber: String(index + 1), uploadId }
      const { headers } = await client.send({
        operation: 'put_part',
        method: 'PUT',
        key,
        query,
        body,
        signal: failed.signal
      })
      if (headers['etag'] === undefined) throw notS3('put_part')
      return headers['etag']
    })
  )
  try {
    return await Promise.all(parts)
  } catch (error) {
    failed.abort(error)
    await Promise.allSettled(parts)
    throw error
  }
}

/** If this fails, `abortLeftUploads` aborts the upload after the grace period. */
async function abortUpload(client: S3Client, key: string, uploadId: string): Promise<void> {
  await client.send({ operation: 'abort_upload', method: 'DELETE', key, query: { uploadId }, tries: 2 }).catch(() => {})
}

/** Aborts uploads that killed engines left behind. They cost storage, but lists of objects do not show them. */
export async function abortLeftUploads(client: S3Client, prefix: string): Promise<number> {
  let aborted = 0
  let after: Record<string, string> = {}
  for (;;) {
    const query = { uploads: '', prefix, ...after }
    const { text, headers } = await client.send({ operation: 'list_uploads', method: 'GET', key: '', query })
    const nowMs = Date.parse(headers['date'] ?? '')
    for (const each of elementsOf(text, 'Upload')) {
      const [key, uploadId] = [textOf(each, 'Key'), textOf(each, 'UploadId')]
      const ageMs = nowMs - Date.parse(textOf(each, 'Initiated') ?? '')
      if (key === null || uploadId === null || !key.startsWith(prefix) || !(ageMs >= GRACE_MS)) continue
      await abortUpload(client, key, uploadId)
      aborted += 1
    }
    const [keyMarker, idMarker] = [textOf(text, 'NextKeyMarker'), textOf(text, 'NextUploadIdMarker')]
    if (textOf(text, 'IsTruncated') !== 'true' || !keyMarker || keyMarker === after['key-marker']) return aborted
    after = { 'key-marker': keyMarker, ...(idMarker ? { 'upload-id-marker': idMarker } : {}) }
  }
}

/** Whether another engine or an earlier attempt wrote first, or the object has changed. */
export const isConditionFailed = (error: unknown): boolean => hasStatus(error, 412)
export const isConditionUnknown = (error: unknown): boolean =>
  hasStatus(error, 501) || (error instanceof S3Error && error.failure.code === 'NotImplemented')

export const notS3 = (operation: string): S3Error =>
  new S3Error({
    operation,
    status: 200,
    code: 'NOT_S3',
    message: 'its answer lacks what S3 answers',
    region: null,
    clockOffsetMs: null
  })
