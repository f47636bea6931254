import { Buffer } from 'node:buffer'
import yauzl from 'yauzl'
import { type ErrorCode, ScrapdeckError } from '../../shared/errors.ts'
import { problemOfEntryName } from './names.ts'

export interface ZipLimits {
  archiveBytes: number
  entries: number
  /** Total unpacked size of all entries, as declared by the archive. */
  totalBytes: number
  /** Highest ratio of unpacked to packed size for the whole archive; code compresses far less than this. */
  ratio: number
}

const MEBIBYTE = 1024 * 1024

/** Scrapyd has no limits. Eggs are a few hundred kilobytes; with bundled dependencies, some tens of megabytes. */
export const EGG_LIMITS: ZipLimits = {
  archiveBytes: 200 * MEBIBYTE,
  entries: 50_000,
  totalBytes: 1024 * MEBIBYTE,
  ratio: 100
}

/** Below this size the ratio is not checked: a few files of zeros are harmless. */
const RATIO_COUNTS_FROM_BYTES = 16 * MEBIBYTE

/** An archive with every entry checked and none unpacked. */
export interface ZipArchive {
  /** Files only, in the archive's order. */
  names: string[]
  /** Null if there is no such file. Rejects with EGG_TOO_LARGE if it unpacks to more than `limitBytes`. */
  read(name: string, limitBytes: number): Promise<Buffer | null>
}

/** Checks an archive without unpacking it. Throws EGG_NOT_A_ZIP, EGG_TOO_LARGE, EGG_UNSAFE. */
export async function openZipArchive(bytes: Uint8Array, limits: ZipLimits = EGG_LIMITS): Promise<ZipArchive> {
  if (bytes.byteLength > limits.archiveBytes) {
    refuse(
      'EGG_TOO_LARGE',
      `The file has ${megabytes(bytes.byteLength)}; the limit is ${megabytes(limits.archiveBytes)}.`
    )
  }
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries = new Map<string, yauzl.Entry>()
  let totalBytes = 0
  let archive: yauzl.ZipFile
  try {
    // Names are checked below from their raw bytes: yauzl would turn backslashes into slashes first.
    archive = await yauzl.fromBufferPromise(content, { lazyEntries: true, decodeStrings: false, autoClose: false })
    if (archive.entryCount > limits.entries) {
      refuse('EGG_UNSAFE', `The archive has ${archive.entryCount} entries; the limit is ${limits.entries}.`)
    }
    for await (const entry of archive.eachEntry()) {
      const name = decodeName(entry.fileName as unknown as Buffer)
      checkEntry(entry, name)
      totalBytes += entry.uncompressedSize
      if (totalBytes > limits.totalBytes) {
        refuse('EGG_TOO_LARGE', `The archive unpacks to more than ${megabytes(limits.totalBytes)}.`)
      }
      if (!name.endsWith('/')) entries.set(name, entry)
    }
  } catch (error) {
    if (error instanceof ScrapdeckError) throw error
    throw new ScrapdeckError(
      'EGG_NOT_A_ZIP',
      `The file cannot be read as a zip archive (${(error as Error).message.replace(/\.$/, '')}). Build the egg again and upload it.`,
      { cause: error }
    )
  }
  if (totalBytes > RATIO_COUNTS_FROM_BYTES && totalBytes > content.byteLength * limits.ratio) {
    refuse('EGG_UNSAFE', `The archive unpacks to more than ${limits.ratio} times its size, which only a zip bomb does.`)
  }
  return {
    names: [...entries.keys()],
    async read(name, limitBytes) {
      const entry = entries.get(name)
      return entry === undefined ? null : readEntry(archive, entry, name, limitBytes)
    }
  }
}

function checkEntry(entry: yauzl.Entry, name: string): void {
  const problem = problemOfEntryName(name)
  if (problem) refuse('EGG_UNSAFE', `The entry ${JSON.stringify(name)} of the archive ${problem}.`)
  const fileType = (entry.externalFileAttributes >>> 16) & 0o170000
  if (fileType === 0o120000)
    refuse('EGG_UNSAFE', `The entry ${JSON.stringify(name)} of the archive is a symbolic link.`)
  if (entry.isEncrypted()) refuse('EGG_UNSAFE', `The entry ${JSON.stringify(name)} of the archive is encrypted.`)
}

/** UTF-8, as Python writes it; older archivers use other code pages, of which only the ASCII part matters here. */
function decodeName(name: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(name)
  } catch (error) {
    if (error instanceof TypeError) return name.toString('latin1')
    throw error
  }
}

async function readEntry(archive: yauzl.ZipFile, entry: yauzl.Entry, name: string, limit: number): Promise<Buffer> {
  if (entry.uncompressedSize > limit) {
    refuse('EGG_TOO_LARGE', `${name} in the archive has ${entry.uncompressedSize} bytes; the limit is ${limit}.`)
  }
  const chunks: Buffer[] = []
  try {
    // yauzl fails the stream if an entry unpacks to more than it declared.
    for await (const chunk of await archive.openReadStreamPromise(entry)) chunks.push(chunk as Buffer)
  } catch (error) {
    throw new ScrapdeckError('EGG_NOT_A_ZIP', `${name} in the archive is damaged: ${(error as Error).message}.`, {
      cause: error
    })
  }
  return Buffer.concat(chunks)
}

function refuse(code: ErrorCode, message: string): never {
  throw new ScrapdeckError(code, message)
}

function megabytes(sizeBytes: number): string {
  return `${(sizeBytes / MEBIBYTE).toFixed(sizeBytes < 10 * MEBIBYTE ? 1 : 0)} MB`
}
