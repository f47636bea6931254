import { close, createReadStream, fstatSync, openSync, read, readSync } from 'node:fs'
import { Readable } from 'node:stream'
import yauzl from 'yauzl'

const END_RECORD_BYTES = 22
const LONGEST_COMMENT = 0xffff

/**
 * Where the archive is in these bytes, the last of `sizeBytes`, as Python finds it: other bytes may stand before it (a
 * script's first line) and up to 64 KiB behind it. Scrapyd takes such eggs. All of the bytes if there is no archive.
 */
export function placeOfZip(tail: Buffer, sizeBytes: number): { start: number; end: number } {
  const searched = tail.subarray(-(END_RECORD_BYTES + LONGEST_COMMENT))
  const at = searched.lastIndexOf('PK\x05\x06')
  const record = searched.subarray(at)
  if (at < 0 || record.length < END_RECORD_BYTES) return { start: 0, end: sizeBytes }
  const recordAt = sizeBytes - record.length
  const end = Math.min(sizeBytes, recordAt + END_RECORD_BYTES + record.readUInt16LE(20))
  // An archive of 4 GB or 65,536 entries has its offsets in another record.
  const isZip64 = at >= 20 && searched.toString('latin1', at - 20, at - 16) === 'PK\x06\x07'
  const start = isZip64 ? 0 : recordAt - record.readUInt32LE(12) - record.readUInt32LE(16)
  return { start: Math.max(0, start), end }
}

/** The bytes of an archive in a file. */
class ZipReader extends yauzl.RandomAccessReader {
  readonly #path: string
  readonly #descriptor: number
  readonly #start: number

  constructor(path: string, descriptor: number, start: number) {
    super()
    this.#path = path
    this.#descriptor = descriptor
    this.#start = start
  }

  override read(buffer: Buffer, offset: number, length: number, position: number, done: (error: Error | null) => void) {
    read(this.#descriptor, buffer, offset, length, this.#start + position, done)
  }

  override _readStreamForRange(start: number, end: number) {
    if (start === end) return Readable.from([])
    return createReadStream(this.#path, { start: this.#start + start, end: this.#start + end - 1 })
  }

  override close(done: (error: Error | null) => void) {
    close(this.#descriptor, done)
  }
}

/** Opens the archive in a file or in bytes, wherever in them it is. */
export function openZipIn(source: string | Uint8Array, options: yauzl.Options): Promise<yauzl.ZipFile> {
  if (typeof source !== 'string') {
    const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength)
    const { start, end } = placeOfZip(bytes, bytes.length)
    return yauzl.fromBufferPromise(bytes.subarray(start, end), options)
  }
  const descriptor = openSync(source, 'r')
  const sizeBytes = fstatSync(descriptor).size
  const tail = Buffer.alloc(Math.min(sizeBytes, 20 + END_RECORD_BYTES + LONGEST_COMMENT))
  readSync(descriptor, tail, 0, tail.length, sizeBytes - tail.length)
  const { start, end } = placeOfZip(tail, sizeBytes)
  const reader = new ZipReader(source, descriptor, start)
  return yauzl.fromRandomAccessReaderPromise(reader, end - start, options).catch((error: unknown) => {
    reader.close(() => {})
    throw error
  })
}
