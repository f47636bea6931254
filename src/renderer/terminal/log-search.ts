import type { AttemptNumber, FoundLogLine, JobId } from '../../shared/contract/index.ts'
import type { LogsClient } from './follow-log.ts'

export interface SearchQuery {
  readonly text: string
  readonly isRegex: boolean
  readonly matchesCase: boolean
}

export interface SearchState {
  readonly query: SearchQuery
  /** The first MOST_LINES matching lines, in order. */
  readonly found: readonly FoundLogLine[]
  readonly matches: number
  readonly state: 'copying' | 'searching' | 'complete' | 'failed'
  /** From 0 to 1. */
  readonly searchedShare: number
  readonly error: unknown
}

interface SearchOptions {
  logs: LogsClient
  jobId: JobId
  attemptNumber?: AttemptNumber | undefined
  onChange: () => void
}

const MOST_LINES = 5_000

/** Searches the whole log, including parts that are not loaded. Results arrive while it runs. */
export class LogSearch {
  readonly #options: SearchOptions
  #running: AbortController | null = null
  #now: SearchState | null = null

  constructor(options: SearchOptions) {
    this.#options = options
  }

  get current(): SearchState | null {
    return this.#now
  }

  /** Ends the previous search. Resolves when the new one ends; never rejects. */
  async start(query: SearchQuery): Promise<void> {
    this.stop()
    const running = new AbortController()
    this.#running = running
    this.#set({ query, found: [], matches: 0, state: 'searching', searchedShare: 0, error: null })
    try {
      const { logs, jobId, attemptNumber } = this.#options
      const parts = await logs.search(
        { jobId, attemptNumber, ...query, mostLines: MOST_LINES },
        { signal: running.signal }
      )
      for await (const { found, matches, state, searchedBytes, sizeBytes } of parts) {
        if (running.signal.aborted) return
        const searchedShare = sizeBytes === 0 ? 1 : searchedBytes / sizeBytes
        this.#set({ ...this.#now!, found: [...this.#now!.found, ...found], matches, state, searchedShare })
      }
    } catch (error) {
      if (!running.signal.aborted) this.#set({ ...this.#now!, state: 'failed', error })
    }
  }

  stop(): void {
    this.#running?.abort()
    this.#running = null
    if (this.#now !== null) {
      this.#now = null
      this.#options.onChange()
    }
  }

  /** The match after or before this byte, wrapping around at both ends. null: there are no matches. */
  next(offset: number, direction: 1 | -1): FoundLogLine | null {
    const found = this.#now?.found ?? []
    if (direction === 1) return found.find((each) => each.offset > offset) ?? found[0] ?? null
    return found.findLast((each) => each.offset < offset) ?? found.at(-1) ?? null
  }

  #set(state: SearchState): void {
    this.#now = state
    this.#options.onChange()
  }
}

/**
 * What to highlight: the text that the engine matched. Running the user's regular expression here could freeze the
 * window.
 */
export function highlightsIn(shown: string, query: SearchQuery, found: FoundLogLine | undefined): Match[] {
  const text = query.isRegex ? found?.text.slice(found.matchAt, found.matchAt + found.matchLength) : query.text
  if (text === undefined || text === '') return []
  const [haystack, needle] = query.matchesCase ? [shown, text] : [shown.toLowerCase(), text.toLowerCase()]
  const matches: Match[] = []
  for (let at = haystack.indexOf(needle); at >= 0 && matches.length < MOST_HIGHLIGHTS; ) {
    matches.push({ from: at, to: at + needle.length })
    at = haystack.indexOf(needle, at + needle.length)
  }
  return matches
}

interface Match {
  from: number
  to: number
}

const MOST_HIGHLIGHTS = 100
