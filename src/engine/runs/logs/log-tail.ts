import type { LogChunk } from '../../../shared/contract/index.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { LogBytes } from '../../runtime/byte-window.ts'
import type { GrowingLog } from './growing-log.ts'

const MAX_CHUNK_BYTES = 262_144
const RETRY_MS = 3_000
/** The maximum number of failures in a row. With the pauses, tolerates half a minute without a response from a node. */
const MAX_FAILURES = 10
const NEWLINE = 0x0a

export interface TailOptions {
  log: Pick<GrowingLog, 'read' | 'waitForNews'>
  mayGrow: () => boolean | Promise<boolean>
  /** `offset`: where to start. Default: `tailBytes` before the end. */
  from: { offset?: number | undefined; tailBytes?: number }
  /** A reader that is further behind skips to the last `tailBytes`, which leaves a gap. Absent: no limit. */
  maxLagBytes?: number | undefined
  /** Ends after the chunk that reaches this total. Absent: no limit. */
  limitBytes?: number | undefined
  clock: Clock
  signal?: AbortSignal | undefined
}

/**
 * Streams the log of a run as it grows, from any source (a file, a node, the archive), only while the caller iterates.
 * Chunks end at line ends. An unfinished line is sent when nothing follows it. Waits for a log that does not exist yet,
 * and starts over when the log is replaced or becomes shorter.
 *
 * Ends after the chunk with `complete: true`. At `limitBytes` or if `signal` aborts, ends without such a chunk. Throws
 * the log's error if it persists for half a minute, or immediately if the run is over, so that no viewer waits for a
 * log that is lost with its node.
 */
export async function* tailLog(options: TailOptions): AsyncGenerator<LogChunk, void> {
  const { log, mayGrow, from, maxLagBytes, limitBytes = Number.POSITIVE_INFINITY, clock, signal } = options
  const { tailBytes = MAX_CHUNK_BYTES } = from
  let offset = from.offset ?? null
  let failures = 0
  let sentBytes = 0
  let sizeBefore = -1
  let startsOver = false
  let live = true
  let isBehind = false
  let fileId: string | undefined

  while (!signal?.aborted) {
    try {
      // Checked before the read, so that the read includes everything written before the end. A reader that is behind
      // does not need to know yet, and in a flood of lines the check costs as much as the read.
      live = isBehind || (await mayGrow())
      const range = await readNext()
      failures = 0
      if (range !== null && offset !== null) {
        const isOther = fileId !== undefined && range.fileId !== undefined && range.fileId !== fileId
        fileId = range.fileId
        if (range.sizeBytes < offset || isOther) {
          // A node that reports a replaced log on every read must not keep us busy.
          if (startsOver) await sleep(clock, RETRY_MS, signal)
          offset = 0
          startsOver = true
          continue
        }
        if (maxLagBytes !== undefined && range.sizeBytes - offset > maxLagBytes) {
          offset = null
          continue
        }
      }
      const chunk: LogChunk = range === null ? emptyChunk(offset ?? 0) : cutChunk(range, live, sizeBefore)
      sizeBefore = range?.sizeBytes ?? -1
      chunk.complete = !live && chunk.nextOffset >= chunk.sizeBytes
      if (startsOver) chunk.startsOver = true
      const hasGrown = chunk.nextOffset > chunk.offset
      if (range !== null) offset = chunk.nextOffset
      if (hasGrown || chunk.complete) {
        startsOver = false
        yield chunk
        sentBytes += chunk.nextOffset - chunk.offset
      }
      if (chunk.complete || sentBytes >= limitBytes) return
      const wasBehind = isBehind
      isBehind = hasGrown && range !== null && !reachesEnd(range)
      if (isBehind || wasBehind) continue
      await log.waitForNews(Math.max(0, sizeBefore), signal)
    } catch (error) {
      if (signal?.aborted) return
      failures += 1
      isBehind = false
      if (failures >= MAX_FAILURES || !live) throw error
      await sleep(clock, RETRY_MS, signal)
    }
  }

  async function readNext(): Promise<LogBytes | null> {
    if (offset !== null) return log.read({ offset, limitBytes: MAX_CHUNK_BYTES }, signal)
    const limitBytes = Math.min(tailBytes, MAX_CHUNK_BYTES) + 1
    const range = await log.read({ offset: -tailBytes - 1, limitBytes }, signal)
    return range === null ? null : skipPartialLine(range, tailBytes)
  }
}

function skipPartialLine(range: LogBytes, tailBytes: number): LogBytes {
  if (range.sizeBytes <= tailBytes) return range
  const newlineAt = range.bytes.indexOf(NEWLINE)
  const skipped = newlineAt < 0 ? Math.min(1, range.bytes.length) : newlineAt + 1
  return { offset: range.offset + skipped, sizeBytes: range.sizeBytes, bytes: range.bytes.subarray(skipped) }
}

function emptyChunk(offset: number): LogChunk {
  return { offset, nextOffset: offset, sizeBytes: offset, text: '', complete: false }
}

function cutChunk(range: LogBytes, live: boolean, sizeBefore: number): LogChunk {
  const bytes = range.bytes.subarray(0, MAX_CHUNK_BYTES)
  const atEnd = reachesEnd(range)
  const isSettled = atEnd && (!live || range.sizeBytes === sizeBefore)
  const lineEnd = bytes.lastIndexOf(NEWLINE) + 1
  let length = lineEnd
  if (atEnd && !live) length = bytes.length
  else if (isSettled || (lineEnd === 0 && !atEnd)) length = wholeCharactersLength(bytes)
  return {
    offset: range.offset,
    nextOffset: range.offset + length,
    sizeBytes: range.sizeBytes,
    text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, length)),
    complete: false
  }
}

function reachesEnd(range: LogBytes): boolean {
  return range.offset + Math.min(range.bytes.length, MAX_CHUNK_BYTES) >= range.sizeBytes
}

function wholeCharactersLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) return bytes.length
    if (byte < 0xc0) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return needed > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}
