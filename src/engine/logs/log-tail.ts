import type { LogChunk } from '../../shared/contract/index.ts'
import { type Clock, sleep } from '../runtime/clock.ts'
import type { LogBytes, WantedBytes } from './byte-window.ts'

const MAX_CHUNK_BYTES = 262_144
const LOCAL_POLL_MS = 250
const REMOTE_POLL_MS = 1000
const IDLE_POLL_MS = 3000
/** Including the waits in between, tolerates a node that does not respond for at least half a minute. */
const MAX_FAILURES = 10
const NEWLINE = 0x0a

/**
 * Streams the log of a run as it grows, from wherever `read` gets it (a file, a node, the archive). Polls only while it
 * is iterated. Chunks end at line ends; an unfinished line is sent as it is at the next poll. Waits for a log that does
 * not exist yet, and restarts one that became shorter. Ends after the chunk with `complete: true`, or without one if
 * `signal` aborts. Throws the error of `read` if it persists for half a minute.
 */
export async function* tailLog(options: {
  /** Resolves null if there is no log yet. */
  read: (range: WantedBytes, signal?: AbortSignal) => Promise<LogBytes | null>
  mayGrow: () => boolean | Promise<boolean>
  /** Reading needs no network, so polls can be frequent. */
  answersAtOnce: () => boolean
  from: { offset: number } | { tailBytes: number }
  clock: Clock
  signal?: AbortSignal
}): AsyncGenerator<LogChunk, void> {
  const { mayGrow, answersAtOnce, from, clock, signal } = options
  let offset = 'offset' in from ? from.offset : null
  let waitMs = 0
  let failures = 0
  let sizeBefore = -1

  while (!signal?.aborted) {
    try {
      // Checked before reading, so that everything written before the end is included in the read.
      const live = await mayGrow()
      const range = await readNext()
      failures = 0
      if (range !== null && offset !== null && range.sizeBytes < offset) {
        offset = 0
        continue
      }
      const chunk: LogChunk = range === null ? emptyChunk(offset ?? 0) : cutChunk(range, live, sizeBefore)
      sizeBefore = range?.sizeBytes ?? -1
      chunk.complete = !live && chunk.nextOffset >= chunk.sizeBytes
      const hasGrown = chunk.nextOffset > chunk.offset
      if (range !== null) offset = chunk.nextOffset
      if (hasGrown || chunk.complete) yield chunk
      if (chunk.complete) return
      // More is available already.
      if (hasGrown && range !== null && !reachesEnd(range)) continue
      const pollMs = answersAtOnce() ? LOCAL_POLL_MS : REMOTE_POLL_MS
      waitMs = hasGrown ? pollMs : Math.min(IDLE_POLL_MS, Math.max(pollMs, waitMs * 1.5))
    } catch (error) {
      if (signal?.aborted) return
      failures += 1
      if (failures >= MAX_FAILURES) throw error
      waitMs = IDLE_POLL_MS
    }
    await sleep(clock, waitMs, signal)
  }

  async function readNext(): Promise<LogBytes | null> {
    if (offset !== null) return options.read({ offset, limitBytes: MAX_CHUNK_BYTES }, signal)
    const tailBytes = 'tailBytes' in from ? from.tailBytes : 0
    // One extra byte shows whether the tail begins at the start of a line.
    const limitBytes = Math.min(tailBytes, MAX_CHUNK_BYTES) + 1
    const range = await options.read({ offset: -tailBytes - 1, limitBytes }, signal)
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

/** The length without an incomplete UTF-8 character at the end. */
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
