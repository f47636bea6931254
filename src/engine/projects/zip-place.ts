import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import yauzl from 'yauzl'

const END_RECORD_BYTES = 22
/** The end record, the longest comment behind it, and what says before it that an archive has 4 GB. */
const TAIL_BYTES = 20 + END_RECORD_BYTES + 0xffff

/**
 * Where the archive is in a file that ends with `tail`, as Python finds it: other bytes may stand before it (a script's
 * first line) and up to 64 KiB behind it. Scrapyd takes such eggs. All of the file if there is no archive.
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

/** Opens the archive in a file or in bytes. Only a file that has other bytes too is read into memory. */
export function openZipIn(source: string | Uint8Array, options: yauzl.Options): Promise<yauzl.ZipFile> {
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
