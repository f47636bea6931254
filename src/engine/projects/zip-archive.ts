import { Buffer } from 'node:buffer'
import { stat } from 'node:fs/promises'
import { type Readable, Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { crc32 } from 'node:zlib'
import yauzl from 'yauzl'
import type { Sentence } from '../../shared/texts/sentence.ts'
import { type ErrorCode, ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/projects.ts'
import { problemOfEntryName } from './names.ts'
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { withoutStop } from '../../shared/texts/parts.ts'

export interface ZipLimits {
  archiveBytes: number
  entries: number
  /** Total size of all entries' names, comments and extra fields, which stay in memory while the archive is open. */
  listBytes: number
  totalBytes: number
  ratio: number
}

const MEBIBYTE = 1024 * 1024

/**
 * The limits for eggs. Scrapyd has none. Most eggs have several hundred kilobytes. Eggs with bundled dependencies have
 * tens of megabytes.
 */
export const EGG_LIMITS: ZipLimits = {
  archiveBytes: 200 * MEBIBYTE,
  entries: 50_000,
  listBytes: 16 * MEBIBYTE,
  totalBytes: 1024 * MEBIBYTE,
  ratio: 100
}

/**
 * The unpacked size from which the ratio counts. Smaller archives are harmless, and a few files of zeros can exceed
 * any ratio.
 */
const RATIO_COUNTS_FROM_BYTES = 16 * MEBIBYTE

/** Replaces the parts of an entry that are not needed to read its content but take three quarters of its memory. */
const UNREAD = {
  fileName: '',
  fileNameRaw: Buffer.alloc(0),
  extraFieldRaw: Buffer.alloc(0),
  extraFields: [],
  fileComment: '',
  fileCommentRaw: Buffer.alloc(0),
  comment: ''
}

export interface ZipArchive {
  names: string[]
  /** Returns null for a missing file. Rejects with EGG_TOO_LARGE if the file unpacks to more than `limitBytes`. */
  read(name: string, limitBytes: number): Promise<Buffer | null>
  /** Unpacks a file of `names` while the stream is read. The stream fails with EGG_NOT_A_ZIP. */
  openRead(name: string): Promise<Readable>
  close(): void
}

/**
 * Checks an archive (a file's path, or bytes) without unpacking it. If it is a file, only its list of entries stays in
 * memory. Throws EGG_NOT_A_ZIP, EGG_TOO_LARGE or EGG_UNSAFE.
 */
export async function openZipArchive(source: string | Uint8Array, limits: ZipLimits = EGG_LIMITS): Promise<ZipArchive> {
  const sizeBytes = typeof source === 'string' ? (await stat(source)).size : source.byteLength
  if (sizeBytes > limits.archiveBytes) {
    refuse('EGG_TOO_LARGE', sentence('projects.archive_too_large', { sizeBytes, most: limits.archiveBytes }))
  }
  const entries = new Map<string, yauzl.Entry>()
  let totalBytes = 0
  let listBytes = 0
  let archive: yauzl.ZipFile | null = null
  try {
    // Check names as raw bytes, because yauzl would replace backslashes with slashes first.
    archive = await openZipIn(source, { lazyEntries: true, decodeStrings: false, autoClose: false })
    if (archive.entryCount > limits.entries) {
      const entryCount = archive.entryCount
      refuse('EGG_UNSAFE', sentence('projects.archive_entries', { entries: entryCount, most: limits.entries }))
    }
    for await (const entry of archive.eachEntry()) {
      const rawName = entry.fileName as unknown as Buffer
      listBytes += rawName.length + entry.fileCommentLength + entry.extraFieldLength
      if (listBytes > limits.listBytes) {
        refuse('EGG_UNSAFE', sentence('projects.archive_list_too_large', { most: limits.listBytes }))
      }
      const name = decodeName(rawName)
      checkEntry(entry, name)
      totalBytes += entry.uncompressedSize
      if (totalBytes > limits.totalBytes) {
        refuse('EGG_TOO_LARGE', sentence('projects.archive_unpacks_too_large', { most: limits.totalBytes }))
      }
      if (!name.endsWith('/')) entries.set(name, Object.assign(entry, UNREAD))
    }
    if (totalBytes > RATIO_COUNTS_FROM_BYTES && totalBytes > sizeBytes * limits.ratio) {
      refuse('EGG_UNSAFE', sentence('projects.archive_is_bomb', { ratio: limits.ratio }))
    }
  } catch (error) {
    archive?.close()
    if (error instanceof ScrapdeckError) throw error
    throw new ScrapdeckError(
      'EGG_NOT_A_ZIP',
      sentence('projects.zip_unreadable', { error: withoutStop((error as Error).message) }),
      { cause: error }
    )
  }
  const opened = archive
  const openRead = (name: string) => openEntry(opened, entries.get(name)!, name)
  return {
    names: [...entries.keys()],
    openRead,
    async read(name, limitBytes) {
      const entry = entries.get(name)
      if (entry === undefined) return null
      const { uncompressedSize } = entry
      if (uncompressedSize > limitBytes) {
        const of = { name, sizeBytes: uncompressedSize, most: limitBytes }
        refuse('EGG_TOO_LARGE', sentence('projects.archive_entry_too_large', of))
      }
      return buffer(await openRead(name))
    },
    close: () => opened.close()
  }
}

function checkEntry(entry: yauzl.Entry, name: string): void {
  const problem = problemOfEntryName(name)
  if (problem) refuse('EGG_UNSAFE', sentence('projects.archive_entry_name', { name, problem }))
  const fileType = (entry.externalFileAttributes >>> 16) & 0o170000
  if (fileType === 0o120000) refuse('EGG_UNSAFE', sentence('projects.archive_entry_is_link', { name }))
  if (entry.isEncrypted()) refuse('EGG_UNSAFE', sentence('projects.archive_entry_encrypted', { name }))
}

/** Python writes UTF-8. Older archivers use other code pages, but only the ASCII part matters here. */
function decodeName(name: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(name)
  } catch (error) {
    if (error instanceof TypeError) return name.toString('latin1')
    throw error
  }
}

/** yauzl fails the stream if an entry unpacks to more than declared. Only the checksum proves the content intact. */
async function openEntry(archive: yauzl.ZipFile, entry: yauzl.Entry, name: string): Promise<Readable> {
  const damaged = (cause: Error) =>
    new ScrapdeckError('EGG_NOT_A_ZIP', sentence('projects.zip_entry_damaged', { name, error: cause.message }), {
      cause
    })
  const packed = await archive.openReadStreamPromise(entry).catch((error: Error) => Promise.reject(damaged(error)))
  let sum = 0
  const content = new Transform({
    transform(piece: Buffer, _encoding, done) {
      sum = crc32(piece, sum)
      done(null, piece)
    },
    flush: (done) => done(sum === entry.crc32 ? null : damaged(new Error('its checksum is wrong')))
  })
  packed.on('error', (error) => content.destroy(damaged(error)))
  content.on('close', () => packed.destroy())
  return packed.pipe(content)
}

function refuse(code: ErrorCode, text: Sentence): never {
  throw new ScrapdeckError(code, text)
}

const END_RECORD_BYTES = 22
/** The end record, its longest comment, and the preceding records that mark an archive of 4 GB or more. */
const TAIL_BYTES = 20 + END_RECORD_BYTES + 0xffff

/**
 * Finds the archive in a file that ends with `tail`. Like Python and Scrapyd, accepts other bytes before it (such as
 * a script's first line) and up to 64 KiB after it. Returns the whole file if there is no archive.
 */
function placeOfZip(tail: Buffer, sizeBytes: number): { start: number; end: number } {
  const searched = tail.subarray(20 - TAIL_BYTES)
  const at = searched.lastIndexOf('PK\x05\x06')
  const record = searched.subarray(at)
  if (at < 0 || record.length < END_RECORD_BYTES) return { start: 0, end: sizeBytes }
  const recordAt = sizeBytes - record.length
  const end = Math.min(sizeBytes, recordAt + END_RECORD_BYTES + record.readUInt16LE(20))
  const isZip64 = tail.subarray(-record.length - 20).toString('latin1', 0, 4) === 'PK\x06\x07'
  const start = isZip64 ? 0 : recordAt - record.readUInt32LE(12) - record.readUInt32LE(16)
  return { start: Math.max(0, start), end }
}

function openZipIn(source: string | Uint8Array, options: yauzl.Options): Promise<yauzl.ZipFile> {
  let bytes = typeof source === 'string' ? null : Buffer.from(source.buffer, source.byteOffset, source.byteLength)
  let place = bytes && placeOfZip(bytes.subarray(-TAIL_BYTES), bytes.length)
  if (typeof source === 'string') {
    const descriptor = openSync(source, 'r')
    try {
      const { size } = fstatSync(descriptor)
      const tail = Buffer.alloc(Math.min(size, TAIL_BYTES))
      readSync(descriptor, tail, 0, tail.length, size - tail.length)
      place = placeOfZip(tail, size)
      if (place.start === 0 && place.end === size) return yauzl.openPromise(source, options)
      bytes = readFileSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
  return yauzl.fromBufferPromise(bytes!.subarray(place!.start, place!.end), options)
}
