import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync
} from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import pLimit from 'p-limit'
import type { Candidates } from '../../../storage/log-blocks.ts'
import type { IndexedLogBlocks } from '../../../model/records.ts'
import { FILTER_BITS, FILTER_BYTES } from './block-filter.ts'

/**
 * The filters of all blocks, in files of SEGMENT_BLOCKS blocks each. The newest segment has one row per block
 * (`12.rows`) and grows. A full segment is converted to one row per bit (`12.bits`), so that a search reads one
 * short row per bit instead of a part of every block. Reads and writes are synchronous, so use it in threads.
 *
 * A block whose filter is missing or damaged is always searched, so losing these files loses no data.
 */
export const SEGMENT_BLOCKS = 1_024
const SLICE_BYTES = SEGMENT_BLOCKS / 8
/** A row contains the filter, its checksum and a marker that shows that the row was written. */
const ROW_BYTES = FILTER_BYTES + 8
const WRITTEN = 0x6b636f6c
/** The filter's bits, plus one slice that shows which blocks have a filter. */
const SLICES = FILTER_BITS + 1
const FILES_AT_ONCE = 16
/** Part of the directory's name, because filters of another format cannot be searched. */
const FORMAT = 2

export const formatDirectory = (directory: string): string => join(directory, `format-${FORMAT}`)

const rowsPath = (directory: string, segment: number): string => join(directory, `${segment}.rows`)
const bitsPath = (directory: string, segment: number): string => join(directory, `${segment}.bits`)

export function endOfBlocks(directory: string): number {
  let end = 0
  for (const name of readNames(directory)) {
    const [, number, kind] = /^(\d+)\.(rows|bits)$/.exec(name) ?? []
    if (number === undefined) continue
    const before = Number(number) * SEGMENT_BLOCKS
    // No log refers to the number of an incomplete row.
    const blocks = kind === 'bits' ? SEGMENT_BLOCKS : Math.ceil(sizeOf(rowsPath(directory, Number(number))) / ROW_BYTES)
    end = Math.max(end, before + blocks)
  }
  return end
}

export async function listSegments(directory: string): Promise<{ segment: number; path: string; bytes: number }[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const files = await pLimit(FILES_AT_ONCE).map(names, async (name) => {
    const path = join(directory, name)
    const bytes = (await stat(path).catch(() => null))?.size ?? 0
    return { segment: Number.parseInt(name, 10), path, bytes }
  })
  return files.filter(({ segment }) => !Number.isNaN(segment))
}

export class UsedBlocks {
  readonly #segments = new Map<number, Uint8Array>()

  add({ firstBlock, wholeBlocks, tailBlock }: IndexedLogBlocks): void {
    for (let index = 0; index < wholeBlocks; index += 1) this.#addBlock(firstBlock! + index)
    if (typeof tailBlock === 'number') this.#addBlock(tailBlock)
  }

  countIn(segment: number): number {
    return this.#segments.get(segment)?.reduce((sum, byte) => sum + ONES[byte]!, 0) ?? 0
  }

  #addBlock(block: number): void {
    const segment = segmentOf(block)
    const bits = this.#segments.get(segment) ?? new Uint8Array(SLICE_BYTES)
    bits[(block >> 3) % SLICE_BYTES]! |= 1 << (block & 7)
    this.#segments.set(segment, bits)
  }
}
const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)

export const hasBlockIn = ({ firstBlock, wholeBlocks, tailBlock }: IndexedLogBlocks, segment: number): boolean =>
  (typeof tailBlock === 'number' && segmentOf(tailBlock) === segment) ||
  (wholeBlocks > 0 && segmentOf(firstBlock!) <= segment && segmentOf(firstBlock! + wholeBlocks - 1) >= segment)

const segmentOf = (block: number): number => Math.floor(block / SEGMENT_BLOCKS)

/** Adds blocks with ascending numbers. They are on disk when `sync` returns. */
export class BlockWriter {
  readonly #directory: string
  #file: { segment: number; descriptor: number } | null = null

  constructor(directory: string) {
    this.#directory = directory
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  }

  write(block: number, filter: Uint8Array): void {
    const segment = Math.floor(block / SEGMENT_BLOCKS)
    if (this.#file?.segment !== segment) {
      this.close()
      for (const full of fullSegments(this.#directory, segment)) transposeSegment(this.#directory, full)
      this.#file = { segment, descriptor: openForWriting(rowsPath(this.#directory, segment)) }
    }
    const row = Buffer.alloc(ROW_BYTES)
    row.set(filter)
    row.writeUInt32LE(crc32(filter), FILTER_BYTES)
    row.writeUInt32LE(WRITTEN, FILTER_BYTES + 4)
    const at = (block - segment * SEGMENT_BLOCKS) * ROW_BYTES
    for (let done = 0; done < ROW_BYTES; )
      done += writeSync(this.#file.descriptor, row, done, ROW_BYTES - done, at + done)
  }

  sync(): void {
    if (this.#file !== null) fsyncSync(this.#file.descriptor)
  }

  close(): void {
    if (this.#file === null) return
    fsyncSync(this.#file.descriptor)
    closeSync(this.#file.descriptor)
    this.#file = null
  }
}

function fullSegments(directory: string, current: number): number[] {
  const segments = readNames(directory).flatMap((name) => (name.endsWith('.rows') ? [Number.parseInt(name, 10)] : []))
  return segments.filter((segment) => segment < current)
}

export function transposeSegment(directory: string, segment: number): void {
  const rows = readFileSync(rowsPath(directory, segment))
  const slices = Buffer.alloc(SLICES * SLICE_BYTES)
  for (let block = 0; block < SEGMENT_BLOCKS; block += 1) {
    const row = rows.subarray(block * ROW_BYTES, (block + 1) * ROW_BYTES)
    if (isIntact(row)) slices[FILTER_BITS * SLICE_BYTES + (block >> 3)]! |= 1 << (block & 7)
  }
  for (let group = 0; group < SLICE_BYTES; group += 1) transposeEight(rows, slices, group)
  const draft = `${bitsPath(directory, segment)}.draft`
  const file = openSync(draft, 'w', 0o600)
  try {
    for (let done = 0; done < slices.length; ) done += writeSync(file, slices, done)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(draft, bitsPath(directory, segment))
  rmSync(rowsPath(directory, segment))
}

/** Transposes the bits of eight blocks, a square of 8 × 8 bits at a time (Hacker's Delight, 7-3). */
function transposeEight(rows: Buffer, slices: Buffer, group: number): void {
  const at = group * 8 * ROW_BYTES
  if (at >= rows.length) return
  const eight = Buffer.alloc(8 * ROW_BYTES)
  rows.copy(eight, 0, at, at + 8 * ROW_BYTES)
  for (let byte = 0; byte < FILTER_BYTES; byte += 1) {
    let low =
      eight[byte]! |
      (eight[ROW_BYTES + byte]! << 8) |
      (eight[2 * ROW_BYTES + byte]! << 16) |
      (eight[3 * ROW_BYTES + byte]! << 24)
    let high =
      eight[4 * ROW_BYTES + byte]! |
      (eight[5 * ROW_BYTES + byte]! << 8) |
      (eight[6 * ROW_BYTES + byte]! << 16) |
      (eight[7 * ROW_BYTES + byte]! << 24)
    let swap = (low ^ (low >>> 7)) & 0x00aa00aa
    low ^= swap ^ (swap << 7)
    swap = (high ^ (high >>> 7)) & 0x00aa00aa
    high ^= swap ^ (swap << 7)
    swap = (low ^ (low >>> 14)) & 0x0000cccc
    low ^= swap ^ (swap << 14)
    swap = (high ^ (high >>> 14)) & 0x0000cccc
    high ^= swap ^ (swap << 14)
    const first = (low & 0x0f0f0f0f) | ((high & 0x0f0f0f0f) << 4)
    const last = ((low >>> 4) & 0x0f0f0f0f) | (high & 0xf0f0f0f0)
    const slice = byte * 8 * SLICE_BYTES + group
    slices[slice] = first
    slices[slice + SLICE_BYTES] = first >>> 8
    slices[slice + 2 * SLICE_BYTES] = first >>> 16
    slices[slice + 3 * SLICE_BYTES] = first >>> 24
    slices[slice + 4 * SLICE_BYTES] = last
    slices[slice + 5 * SLICE_BYTES] = last >>> 8
    slices[slice + 6 * SLICE_BYTES] = last >>> 16
    slices[slice + 7 * SLICE_BYTES] = last >>> 24
  }
}

function isIntact(row: Buffer): boolean {
  if (row.length < ROW_BYTES || row.readUInt32LE(FILTER_BYTES + 4) !== WRITTEN) return false
  return crc32(row.subarray(0, FILTER_BYTES)) === row.readUInt32LE(FILTER_BYTES)
}

/** The bits that a block must have to contain a match. `any`: one of the terms is enough. */
export type BitTerm = { bits: readonly number[] } | { all: readonly BitTerm[] } | { any: readonly BitTerm[] }

export function probeBlocks(directory: string, term: BitTerm): Candidates {
  const end = endOfBlocks(directory)
  const candidates = new Uint8Array(Math.ceil(end / SEGMENT_BLOCKS) * SLICE_BYTES).fill(255)
  for (let segment = 0; segment * SEGMENT_BLOCKS < end; segment += 1) {
    const found = probeBits(directory, segment, term) ?? probeRows(directory, segment, term)
    // If the rows are gone, the segment has just been converted. If neither file exists, all its blocks can match.
    candidates.set(found ?? probeBits(directory, segment, term) ?? ALL, segment * SLICE_BYTES)
  }
  return candidates
}

const ALL = new Uint8Array(SLICE_BYTES).fill(255)

function probeBits(directory: string, segment: number, term: BitTerm): Uint8Array | null {
  const file = openIfThere(bitsPath(directory, segment))
  if (file === null) return null
  try {
    const found = evaluate(term)
    const written = slice(FILTER_BITS)
    return found.map((byte, at) => byte | (~written[at]! & 255))
  } finally {
    closeSync(file)
  }

  /** An unreadable slice rules out nothing. */
  function slice(bit: number): Uint8Array {
    const bytes = new Uint8Array(SLICE_BYTES)
    return readSync(file!, bytes, 0, SLICE_BYTES, bit * SLICE_BYTES) === SLICE_BYTES ? bytes : ALL
  }

  function evaluate(part: BitTerm): Uint8Array {
    const isAny = 'any' in part
    const result = new Uint8Array(SLICE_BYTES).fill(isAny ? 0 : 255)
    const parts = 'bits' in part ? part.bits : isAny ? part.any : part.all
    for (const each of parts) {
      const own = typeof each === 'number' ? slice(each) : evaluate(each)
      for (let at = 0; at < SLICE_BYTES; at += 1) result[at] = isAny ? result[at]! | own[at]! : result[at]! & own[at]!
      if (!isAny && result.every((byte) => byte === 0)) break
    }
    return result
  }
}

/** Reads single bytes of each row, because the first two rule out most rows. */
function probeRows(directory: string, segment: number, term: BitTerm): Uint8Array | null {
  const file = openIfThere(rowsPath(directory, segment))
  if (file === null) return null
  try {
    const found = new Uint8Array(SLICE_BYTES)
    const one = Buffer.alloc(1)
    const mark = Buffer.alloc(4)
    for (let block = 0; block < SEGMENT_BLOCKS; block += 1) {
      const at = block * ROW_BYTES
      const isWritten = readSync(file, mark, 0, 4, at + FILTER_BYTES + 4) === 4 && mark.readUInt32LE() === WRITTEN
      const hasBit = (bit: number) =>
        readSync(file, one, 0, 1, at + (bit >> 3)) < 1 || ((one[0]! >> (bit & 7)) & 1) === 1
      if (!isWritten || fitsTerm(term, hasBit)) found[block >> 3]! |= 1 << (block & 7)
    }
    return found
  } finally {
    closeSync(file)
  }
}

export function fitsTerm(term: BitTerm, hasBit: (bit: number) => boolean): boolean {
  if ('bits' in term) return term.bits.every(hasBit)
  return 'any' in term
    ? term.any.some((each) => fitsTerm(each, hasBit))
    : term.all.every((each) => fitsTerm(each, hasBit))
}

function readNames(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : []
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Keeps existing content, because rows are written at any position. */
function openForWriting(path: string): number {
  if (!existsSync(path)) writeFileSync(path, '', { flag: 'a', mode: 0o600 })
  return openSync(path, 'r+')
}
