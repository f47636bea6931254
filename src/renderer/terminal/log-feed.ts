import type { AttemptNumber, JobId, LogChunk } from '../../shared/contract/index.ts'
import { type FollowState, followLog, type LogsClient } from './follow-log.ts'
import { type Appended, LogWindow, type LogPiece } from './log-window.ts'
import { texts } from '../../shared/texts/ui/terminal.ts'

export type FeedChange =
  | ({ kind: 'appended' } & Appended)
  | { kind: 'prepended'; added: number }
  | { kind: 'replaced' }
  | { kind: 'other' }

export interface FeedOptions {
  readonly logs: LogsClient
  readonly jobId: JobId
  readonly attemptNumber?: AttemptNumber | undefined
  readonly onChange: (change: FeedChange) => void
  readonly onError: (title: string, error: unknown) => void
  /** Resolves when enough of the received bytes are painted to request the next piece. */
  readonly mayContinue: (bytes: number) => void | Promise<void>
  /** Whether the first loaded lines must stay, because the user is reading them. */
  readonly needsStart: () => boolean
}

/** The number of bytes at the end of the log that a view starts with. */
const FIRST_BYTES = 262_144
const AROUND_BYTES = 131_072
const MORE_BYTES = 524_288
/** The maximum lag of a view. A view that is further behind skips to near the end and shows how much it skipped. */
const MAX_LAG_BYTES = 4_194_304
const MOST_LINES = 50_000

/**
 * The loaded lines of one log, either attached to its growing end or elsewhere in it. Back-pressure reaches the
 * engine: the next piece is requested only after the previous one is shown.
 */
export class LogFeed {
  readonly window = new LogWindow(MOST_LINES)
  readonly #options: FeedOptions
  readonly #closing = new AbortController()
  #stream: AbortController | null = null
  #state: FollowState | { readonly kind: 'opening' } = { kind: 'opening' }
  #sizeBytes = 0
  #skippedBytes = 0
  #isComplete = false
  #loading: 'older' | 'newer' | 'jump' | null = null

  constructor(options: FeedOptions) {
    this.#options = options
  }

  get state(): FollowState | { readonly kind: 'opening' } {
    return this.#state
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** Bytes skipped since the view started following, because they arrived faster than the view could show them. */
  get skippedBytes(): number {
    return this.#skippedBytes
  }

  get isLoading(): boolean {
    return this.#loading !== null
  }

  get isAttached(): boolean {
    return this.#stream !== null || (this.#isComplete && this.window.nextOffset >= this.#sizeBytes)
  }

  get hasOlder(): boolean {
    return (this.window.startOffset ?? 0) > 0
  }

  /** Follows the end, and keeps the loaded lines if they reach it. */
  attach(): void {
    if (this.isAttached) return
    const reachesEnd = this.window.startOffset !== null && this.window.nextOffset >= this.#sizeBytes
    if (!reachesEnd) {
      this.window.clear()
      this.#options.onChange({ kind: 'replaced' })
    }
    const stream = new AbortController()
    this.#stream = stream
    const { logs, jobId, attemptNumber } = this.#options
    void followLog({
      logs,
      jobId,
      attemptNumber,
      tailBytes: FIRST_BYTES,
      maxLagBytes: MAX_LAG_BYTES,
      fromOffset: reachesEnd ? this.window.nextOffset : undefined,
      onChunk: (chunk) => (stream.signal.aborted ? undefined : this.#append(chunk)),
      onState: (state) => {
        if (!stream.signal.aborted) this.#setState(state)
      },
      signal: AbortSignal.any([stream.signal, this.#closing.signal])
    })
  }

  retry(): void {
    this.#detach()
    this.attach()
  }

  close(): void {
    this.#closing.abort()
  }

  /** Loads the lines around this byte if necessary. Resolves to false if the load fails. */
  async goTo(offset: number): Promise<boolean> {
    if (this.window.indexOf(offset) >= 0) return true
    return this.#load('jump', texts.couldNotReadPart, async (signal) => {
      const end = offset + AROUND_BYTES
      const piece = await this.#read(Math.max(0, offset - AROUND_BYTES), end, signal)
      this.#detach()
      this.window.clear()
      this.window.append(piece)
      this.#options.onChange({ kind: 'replaced' })
      this.#continueAtEnd()
    })
  }

  async loadOlder(): Promise<void> {
    const end = this.window.startOffset
    if (end === null || end === 0) return
    await this.#load('older', texts.couldNotLoadOlderLines, async (signal) => {
      const piece = await this.#read(Math.max(0, end - MORE_BYTES), end, signal)
      if (this.window.startOffset !== end) return
      const { added, dropped } = this.window.prepend(piece)
      if (dropped > 0) this.#detach()
      this.#options.onChange({ kind: 'prepended', added })
    })
  }

  async loadNewer(): Promise<void> {
    if (this.isAttached) return
    await this.#load('newer', texts.couldNotLoadNewerLines, async (signal) => {
      const start = this.window.nextOffset
      const { logs, jobId, attemptNumber } = this.#options
      const chunk = await logs.read({ jobId, attemptNumber, offset: start, limitBytes: MORE_BYTES }, { signal })
      if (this.window.nextOffset !== start) return
      this.#sizeBytes = chunk.sizeBytes
      this.#options.onChange({ kind: 'appended', ...this.window.append(chunk) })
      this.#continueAtEnd()
    })
  }

  #continueAtEnd(): void {
    if (this.window.nextOffset >= this.#sizeBytes) this.attach()
  }

  #detach(): void {
    this.#stream?.abort()
    this.#stream = null
    this.#isComplete = false
  }

  async #append(chunk: LogChunk): Promise<void> {
    this.#sizeBytes = chunk.sizeBytes
    const wouldDrop = this.window.lines.length > MOST_LINES * 0.9
    if (wouldDrop && this.#options.needsStart()) {
      // Keep the lines that the user is reading; the end is fetched again on demand.
      this.#detach()
      this.#options.onChange({ kind: 'other' })
      return
    }
    const appended = this.window.append(chunk)
    this.#skippedBytes += appended.skippedBytes
    const last = chunk.complete ? this.window.finish() : 0
    this.#options.onChange({ kind: 'appended', ...appended, added: appended.added + last })
    await this.#options.mayContinue(chunk.nextOffset - chunk.offset)
  }

  #setState(state: FollowState): void {
    this.#state = state
    if (state.kind === 'complete' || state.kind === 'unavailable') {
      this.#isComplete = state.kind === 'complete'
      this.#stream = null
    }
    this.#options.onChange({ kind: 'other' })
  }

  async #read(start: number, end: number, signal: AbortSignal) {
    const { logs, jobId, attemptNumber } = this.#options
    const piece = await readLogRange(logs, { jobId, attemptNumber, start, end }, signal)
    this.#sizeBytes = Math.max(piece.sizeBytes, piece.nextOffset)
    return piece
  }

  /** Runs one load at a time. A jump replaces other loads. */
  async #load(
    what: 'older' | 'newer' | 'jump',
    title: string,
    work: (signal: AbortSignal) => Promise<void>
  ): Promise<boolean> {
    if (this.#loading !== null && what !== 'jump') return false
    this.#loading = what
    this.#options.onChange({ kind: 'other' })
    try {
      await work(this.#closing.signal)
      return true
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#options.onError(title, error)
      return false
    } finally {
      this.#loading = null
      this.#options.onChange({ kind: 'other' })
    }
  }
}

interface LogRange {
  readonly jobId: JobId
  readonly attemptNumber?: AttemptNumber | undefined
  readonly start: number
  readonly end: number
}

type ReadPiece = LogPiece & { readonly sizeBytes: number }

/**
 * Reads the lines between two offsets, in several reads if necessary: from the first line that starts at or after
 * `start` to the last byte before `end`, even within a line.
 */
async function readLogRange(
  logs: LogsClient,
  { jobId, attemptNumber, start, end }: LogRange,
  signal: AbortSignal
): Promise<ReadPiece> {
  // The byte before `start` shows whether a line starts there.
  let offset = Math.max(0, start - 1)
  let text = ''
  let first = offset
  let sizeBytes = end
  let format: LogPiece['format']
  while (offset < end) {
    const chunk = await logs.read({ jobId, attemptNumber, offset, limitBytes: end - offset }, { signal })
    sizeBytes = chunk.sizeBytes
    format = chunk.format
    if (text === '') first = chunk.offset
    if (chunk.nextOffset <= offset) break
    text += chunk.text
    offset = chunk.nextOffset
  }
  if (start === 0) return { offset: first, nextOffset: offset, text, sizeBytes, format }
  const lineAt = text.indexOf('\n') + 1
  const skipped = new TextEncoder().encode(text.slice(0, lineAt)).length
  return { offset: first + skipped, nextOffset: offset, text: text.slice(lineAt), sizeBytes, format }
}
