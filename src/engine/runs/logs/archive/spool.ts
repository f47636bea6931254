import { type FileHandle, mkdir, open, readdir, stat, truncate, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type LogBytes, placeRange, type WantedBytes, freeBuffer } from '../../../runtime/byte-window.ts'
import {
  FRAME_RAW_BYTES,
  frameLength,
  isWholeFrame,
  packFrame,
  type FrameSizes,
  type FrameMap,
  mapFrames,
  rawSizeOf,
  readFrames
} from './frames.ts'
import { Mutex } from '../../../runtime/mutex.ts'

const FRAMES = '.frames'
const REST = '.rest'
const REST_HEADER_BYTES = 8

export interface SpoolFiles {
  framesPath: string
  frames: FrameSizes[]
  restPath: string
  restAt: number
  restBytes: number
}

/**
 * A log that is still being copied: complete frames in one file, and the unpacked bytes after them in another, so
 * that a crash loses nothing and nothing is packed twice. Only one spool per name may be open.
 *
 * `NAME.rest` starts with its position in the log. After a crash between writing a frame and removing its rest, both
 * files have the same bytes, and the frames take precedence.
 */
export class Spool {
  readonly #framesPath: string
  readonly #restPath: string
  readonly #frames: FrameSizes[]
  #map: FrameMap
  #restBytes: number
  /** Whether the spool can have files. Most spools are created and removed without any. */
  #hasFrames = false
  #hasRest = false
  /** Frames and rest must change together. */
  readonly #mutex = new Mutex()

  /** Creates a spool in an existing directory. No file of this name may exist. */
  constructor(directory: string, name: string, frames: FrameSizes[] = [], restBytes = 0) {
    const path = join(directory, name)
    this.#framesPath = path + FRAMES
    this.#restPath = path + REST
    this.#frames = frames
    this.#map = mapFrames(frames)
    this.#restBytes = restBytes
  }

  /** Opens the spool of an earlier process and truncates what that process did not finish writing. */
  static async open(directory: string, name: string): Promise<Spool> {
    const path = join(directory, name)
    const frames = await recoverFrames(path + FRAMES)
    const restBytes = await recoverRest(path + REST, rawSizeOf(mapFrames(frames)))
    const spool = new Spool(directory, name, frames, restBytes)
    spool.#hasFrames = true
    spool.#hasRest = true
    return spool
  }

  /** The names of all spools in a directory. Creates the directory if it is missing. */
  static async list(directory: string): Promise<string[]> {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const files = await readdir(directory)
    const names = files.flatMap((file) => {
      const ending = [FRAMES, REST].find((each) => file.endsWith(each))
      return ending === undefined ? [] : [file.slice(0, -ending.length)]
    })
    return [...new Set(names)].sort()
  }

  get sizeBytes(): number {
    return this.#restAt + this.#restBytes
  }

  get #restAt(): number {
    return rawSizeOf(this.#map)
  }

  /** Appends to the log. Resolves when the bytes would survive the end of this process. */
  append(bytes: Uint8Array): Promise<void> {
    return this.#mutex.run(async () => {
      let left = bytes
      while (left.length > 0) {
        const piece = left.subarray(0, FRAME_RAW_BYTES - this.#restBytes)
        left = left.subarray(piece.length)
        const isFull = this.#restBytes + piece.length === FRAME_RAW_BYTES
        if (isFull) await this.#addFrame(Buffer.concat([await this.#readRest(0, this.#restBytes), piece]))
        else await this.#addToRest(piece)
      }
    })
  }

  async read(wanted: WantedBytes): Promise<LogBytes> {
    return this.#mutex.run(async () => {
      const { sizeBytes } = this
      const restAt = this.#restAt
      const { start: offset, end } = placeRange(wanted, sizeBytes)
      const pieces: Uint8Array[] = []
      if (offset < restAt && end > offset) {
        const limitBytes = Math.min(end, restAt) - offset
        pieces.push((await this.#readFrames({ offset, limitBytes })).bytes)
      }
      if (end > restAt) pieces.push(await this.#readRest(Math.max(0, offset - restAt), end - restAt))
      return { offset, sizeBytes, bytes: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces) }
    })
  }

  /**
   * Describes the files for a thread. If a frame completes later, the thread can no longer read what follows the
   * frames.
   */
  describe(): SpoolFiles {
    const files = { framesPath: this.#framesPath, restPath: this.#restPath, restAt: REST_HEADER_BYTES }
    return { ...files, frames: [...this.#frames], restBytes: this.#restBytes }
  }

  /** Deletes the spool's files and starts from zero, because the log was archived or replaced. */
  clear(): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#hasFrames) await removeFile(this.#framesPath)
      this.#frames.length = 0
      this.#map = mapFrames([])
      this.#hasFrames = false
      if (this.#hasRest) await removeFile(this.#restPath)
      this.#restBytes = 0
      this.#hasRest = false
    })
  }

  async #readFrames(wanted: WantedBytes): Promise<LogBytes> {
    await using file = await open(this.#framesPath)
    return readFrames(this.#map, (offset, length) => readFully(file, offset, length), wanted)
  }

  /** Reads from the disk to save memory: a thousand logs can be open. */
  async #readRest(from: number, to: number): Promise<Buffer> {
    if (to <= from) return Buffer.alloc(0)
    await using file = await open(this.#restPath)
    return readFully(file, REST_HEADER_BYTES + from, to - from)
  }

  async #addFrame(raw: Buffer): Promise<void> {
    const packed = await packFrame(raw)
    this.#hasFrames = true
    await using file = await open(this.#framesPath, 'a', 0o600)
    try {
      await file.appendFile(packed)
      await file.datasync()
    } catch (error) {
      // A partial frame would hide everything after it.
      await file.truncate(this.#map.packedAt.at(-1)!).catch(() => {})
      throw error
    }
    this.#frames.push({ packedBytes: packed.length, rawBytes: raw.length })
    freeBuffer(packed)
    this.#map = mapFrames(this.#frames)
    this.#restBytes = 0
    await removeFile(this.#restPath)
  }

  async #addToRest(piece: Uint8Array): Promise<void> {
    this.#hasRest = true
    if (this.#restBytes === 0) {
      const header = Buffer.alloc(REST_HEADER_BYTES)
      header.writeBigUInt64LE(BigInt(this.#restAt))
      await writeFile(this.#restPath, Buffer.concat([header, piece]), { mode: 0o600 })
    } else {
      await using file = await open(this.#restPath, 'r+')
      await writeFully(file, piece, REST_HEADER_BYTES + this.#restBytes)
    }
    this.#restBytes += piece.length
  }
}

/** On a nearly full disk, a write stores fewer bytes than requested without an error. The next write fails. */
async function writeFully(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; )
    written += (await file.write(bytes, written, bytes.length - written, at + written)).bytesWritten
}

export type SpoolPort = Pick<Spool, 'sizeBytes' | 'append' | 'read' | 'describe' | 'clear'>

export interface Spools {
  list(): Promise<string[]>
  /** Creates a spool. No spool of this name may exist. */
  begin(name: string): SpoolPort
  open(name: string): Promise<SpoolPort>
}

export const spoolsIn = (directory: string): Spools => ({
  list: () => Spool.list(directory),
  begin: (name) => new Spool(directory, name),
  open: (name) => Spool.open(directory, name)
})

async function recoverFrames(path: string): Promise<FrameSizes[]> {
  const size = await stat(path).then(({ size }) => size, orElse(0))
  const frames: FrameSizes[] = []
  if (size === 0) return frames
  let at = 0
  await using file = await open(path)
  while (at < size) {
    const bytes = await readFully(file, at, FRAME_RAW_BYTES * 2)
    const length = frameLength(bytes)
    if (length === null) break
    // Each frame is synced before the next is written, so only the last one can have its full length but not its
    // content.
    if (at + length >= size && !(await isWholeFrame(bytes.subarray(0, length)))) break
    frames.push({ packedBytes: length, rawBytes: FRAME_RAW_BYTES })
    at += length
  }
  if (at < size) await truncate(path, at)
  return frames
}

async function recoverRest(path: string, restAt: number): Promise<number> {
  try {
    await using file = await open(path)
    const header = await readFully(file, 0, REST_HEADER_BYTES)
    const { size } = await file.stat()
    const fits = header.length === REST_HEADER_BYTES && Number(header.readBigUInt64LE(0)) === restAt
    if (!fits || size - REST_HEADER_BYTES >= FRAME_RAW_BYTES) await removeFile(path)
    else return size - REST_HEADER_BYTES
  } catch (error) {
    return orElse(0)(error)
  }
  return 0
}

/** Ignores missing files. Node's `rm` would check the file first, in this thread. */
const removeFile = (path: string): Promise<void> => unlink(path).catch(orElse(undefined))

const orElse =
  <T>(value: T) =>
  (error: unknown): T => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return value
    throw error
  }

/** Reads fewer bytes than `length` only at the end of the file. */
export async function readFully(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
