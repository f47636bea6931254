import { createHash, type Hash } from 'node:crypto'
import { once } from 'node:events'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { extract, type Header, pack } from 'tar-stream'
import { z } from 'zod'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { isSealed } from '../../storage/blobs/sealed/sealed-format.ts'
import { openSealedStream, sealing } from '../../storage/blobs/sealed/sealed-streams.ts'
import type { EncryptionKeys } from '../../runtime/encryption-keys.ts'
import { isKeptName } from './what-is-kept.ts'

const HEAD = 'backup.json'
/** The last entry contains a hash of all others, so that nothing can be left out or added. */
const CONTENTS = 'contents.json'
/** The name that is bound into the encryption of each frame, whatever the name of the file. */
const SEALED_AS = 'scrapdeck-backup'
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
const JSON_MAX_BYTES = 1_000_000
const MISSING_LISTED = 1_000
/** The compression level. Blobs are already compressed, so a higher level would take time and save little. */
const LEVEL = 3

/** Makes invisible characters visible for people who inspect a backup that they do not trust. */
const shown = (most = Infinity) => z.string().max(most).transform(showUnseen)

export const BackupHead = z.object({
  format: z.literal(1),
  scrapdeckVersion: shown(200),
  madeAtMs: z.number().int(),
  hostname: shown(300),
  database: z.enum(['sqlite', 'postgres']),
  blobsAt: shown(2_000).nullable(),
  hasSecrets: z.boolean()
})
export type BackupHead = z.infer<typeof BackupHead>

const Contents = z.object({
  files: z.number().int(),
  bytes: z.number().int(),
  sha256: z.string(),
  /** Files that the database names but that do not exist. */
  missing: z.array(shown()),
  missingCount: z.number().int()
})
export type Contents = z.infer<typeof Contents>

export interface BackupFile {
  name: string
  sizeBytes: number
  content: () => AsyncIterable<Uint8Array>
}

export type SealWith = EncryptionKeys | null

/** Calls `onFile` after each file, and `missing` after the last one. */
export async function* archiveOf(
  head: BackupHead,
  { files, missing }: { files: AsyncIterable<BackupFile>; missing: () => readonly string[] },
  keys: SealWith,
  onFile: (file: BackupFile) => void
): AsyncGenerator<Uint8Array> {
  const tar = pack()
  const digest = new Digest()
  const fill = async () => {
    await addEntry(tar, HEAD, Buffer.from(`${JSON.stringify(head, null, 2)}\n`))
    for await (const file of files) {
      const hash = createHash('sha256')
      await addEntry(tar, file.name, file.content(), file.sizeBytes, hash)
      digest.add(file.name, file.sizeBytes, hash)
      onFile(file)
    }
    const names = missing()
    const contents: Contents = {
      ...digest.end(),
      missing: names.slice(0, MISSING_LISTED),
      missingCount: names.length
    }
    await addEntry(tar, CONTENTS, Buffer.from(`${JSON.stringify(contents)}\n`))
    tar.finalize()
  }
  const filled = fill()
  // If filling fails, the stream fails with the same error.
  filled.catch((error: unknown) => tar.destroy(error as Error))
  const compression = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: LEVEL } })
  const compressed = through(Readable.from(tar, { objectMode: false }), compression)
  try {
    yield* keys === null ? compressed : sealing(keys, SEALED_AS, compressed, () => {})
    await filled
  } finally {
    tar.destroy()
  }
}

type Tar = ReturnType<typeof pack>

async function addEntry(
  tar: Tar,
  name: string,
  content: Buffer | AsyncIterable<Uint8Array>,
  sizeBytes = (content as Buffer).length,
  hash: Hash | null = null
): Promise<void> {
  const { promise: written, resolve, reject } = Promise.withResolvers<void>()
  const entry = tar.entry({ name, size: sizeBytes, mode: 0o600, type: 'file' }, (error) =>
    error ? reject(error) : resolve()
  )
  // `written` is awaited below, unless another failure is thrown first.
  written.catch(() => {})
  const drained = () => Promise.race([once(entry, 'drain'), written])
  const pieces = Buffer.isBuffer(content) ? [content] : (content as AsyncIterable<Uint8Array>)
  for await (const piece of pieces) {
    hash?.update(piece)
    if (!entry.write(piece)) await drained()
  }
  entry.end(undefined)
  await written
}

class Digest {
  readonly #hash = createHash('sha256')
  #files = 0
  #bytes = 0

  add(name: string, sizeBytes: number, content: Hash): void {
    this.#files += 1
    this.#bytes += sizeBytes
    this.#hash.update(JSON.stringify([name, sizeBytes, content.digest('hex')]))
  }

  end(): Pick<Contents, 'files' | 'bytes' | 'sha256'> {
    return { files: this.#files, bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }
}

export interface ReadingBackup {
  onHead(head: BackupHead): Promise<void> | void
  onFile(name: string, content: AsyncIterable<Uint8Array>): Promise<void>
}

/**
 * Returns the description of the backup. Do not trust the files that `onFile` receives until this resolves. Rejects
 * with BACKUP_DAMAGED if anything was changed, cut off, left out or added, with ENCRYPTION_KEY_MISSING, or with
 * BAD_INPUT if the file is not a backup.
 */
export async function readArchive(
  source: Readable,
  keys: EncryptionKeys,
  reading: ReadingBackup
): Promise<{ head: BackupHead; contents: Contents; isSealed: boolean }> {
  const head = await firstBytes(source)
  const wasSealed = isSealed(head)
  if (!wasSealed && !ZSTD_MAGIC.equals(head.subarray(0, ZSTD_MAGIC.length))) {
    source.destroy()
    throw new ScrapdeckError('BAD_INPUT', sentence('storage.not_a_backup'))
  }
  try {
    const plain = wasSealed ? await openSealedStream(keys, SEALED_AS, source) : source
    const tar = extract()
    const feeding = feed(tar, through(plain, createZstdDecompress()))
    feeding.catch((error: Error) => tar.destroy(error))
    const result = await readEntries(tar as AsyncIterable<unknown> as AsyncIterable<ArchivedFile>, reading)
    await feeding
    return { ...result, isSealed: wasSealed }
  } catch (error) {
    throw asDamage(error)
  } finally {
    source.destroy()
  }
}

type ArchivedFile = AsyncIterable<Uint8Array> & { header: Header }

async function feed(tar: ReturnType<typeof extract>, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const closed = once(tar, 'close').catch(() => {})
  for await (const piece of bytes) {
    // The reader has failed and reports the error itself.
    if (tar.destroying) return
    if (!tar.write(piece)) await Promise.race([once(tar, 'drain'), closed])
  }
  tar.end(undefined)
}

async function* through(source: Readable, transformation: Transform): AsyncGenerator<Uint8Array> {
  const fed = pipeline(source, transformation)
  // If the pipeline fails, the reader gets the error from the transformation.
  fed.catch(() => {})
  yield* transformation
  await fed
}

async function readEntries(
  tar: AsyncIterable<ArchivedFile>,
  reading: ReadingBackup
): Promise<{ head: BackupHead; contents: Contents }> {
  let head: BackupHead | null = null
  let contents: Contents | null = null
  const digest = new Digest()
  const seen = new Set<string>()
  for await (const entry of tar) {
    const { name, type, size = 0 } = entry.header
    if (contents !== null) throw damaged(`${name} follows its end`)
    if (head === null) {
      if (name !== HEAD) throw damaged('it does not begin as a backup does')
      head = BackupHead.parse(await jsonOf(entry))
      await reading.onHead(head)
    } else if (name === CONTENTS) {
      contents = Contents.parse(await jsonOf(entry))
    } else {
      if (type !== 'file' || !isKeptName(name) || seen.has(name))
        throw damaged(`it has ${JSON.stringify(name.slice(0, 200))}, which no backup has`)
      seen.add(name)
      const hash = createHash('sha256')
      await reading.onFile(name, hashed(entry, hash))
      digest.add(name, size, hash)
    }
  }
  if (head === null || contents === null) throw damaged('it was cut off')
  const found = digest.end()
  if (found.sha256 !== contents.sha256 || found.files !== contents.files)
    throw damaged('its files are not those that were written')
  return { head, contents }
}

async function* hashed(content: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    hash.update(piece)
    yield piece
  }
}

async function jsonOf(entry: AsyncIterable<Uint8Array>): Promise<unknown> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of entry) {
    bytes += piece.length
    if (bytes > JSON_MAX_BYTES) throw damaged('its description is too long')
    pieces.push(piece)
  }
  return JSON.parse(Buffer.concat(pieces).toString())
}

async function firstBytes(source: Readable): Promise<Buffer> {
  for (;;) {
    const head = source.read(8) as Buffer | null
    if (head !== null) {
      source.unshift(head)
      return head
    }
    if (source.readableEnded) return Buffer.alloc(0)
    await Promise.race([once(source, 'readable'), once(source, 'end')])
  }
}

function asDamage(error: unknown): unknown {
  if (isScrapdeckError(error, 'BLOB_DAMAGED')) return damaged('it was changed or cut off', error)
  if (isScrapdeckError(error, 'ENCRYPTION_KEY_MISSING')) {
    const text = sentence('storage.backup_key_missing', { keyId: String(error.data['keyId']) })
    return new ScrapdeckError('ENCRYPTION_KEY_MISSING', text, { cause: error, data: error.data })
  }
  if (error instanceof ScrapdeckError) return error
  if (error instanceof z.ZodError || error instanceof SyntaxError)
    return damaged('its description cannot be read; a newer Scrapdeck may have written it', error)
  const { code = '', message = '' } = error as NodeJS.ErrnoException
  if (/^(ZSTD|Z_)/i.test(code) || /unexpected end|invalid tar|premature close/i.test(message))
    return damaged('it was changed or cut off', error)
  return error
}

export function damaged(what: string, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('BACKUP_DAMAGED', sentence('storage.backup_damaged', { what }), { cause })
}
