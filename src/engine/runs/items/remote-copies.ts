import { open, rm, stat } from 'node:fs/promises'
import type { Attempt } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { ItemsCache } from './items-cache.ts'
import { KeyedSingleFlight } from '../../runtime/single-flight.ts'

/** Reads a piece of a file on a node, as NodeClient.readItems does. Null: the node has no such file. */
export type ReadRange = (
  attempt: Attempt,
  range: { offset: number; limitBytes: number },
  signal: AbortSignal
) => Promise<{ offset: number; sizeBytes: number; bytes: Uint8Array } | null>

export interface Copy {
  path: string
  copiedBytes: number
  sizeBytes: number
}

interface State extends Copy {
  checkedAtMs: number
  askedAtMs: number
  wantedBytes: number
  loading: Promise<void> | null
  /** The read in progress. A second read would append the same piece twice. */
  appending: Promise<boolean> | null
}

const PIECE_BYTES = 4 * 1024 * 1024
const CHECK_EVERY_MS = 2_000
/** How long a request waits before it rejects with the progress of the copy. */
const WAIT_MS = 20_000
const COPYING_AT_ONCE = 4
/** How long a copy without readers continues. A slow node can need days, and other copies wait for the slot. */
const ABANDONED_MS = 120_000
/** The maximum number of tracked copies. The byte limit of the cache usually evicts copies earlier. */
const COPIES_MAX = 500

/** Copies items from remote nodes or from the archive, only as much as readers need. */
export class RemoteCopies {
  readonly #cache: ItemsCache
  readonly #clock: Clock
  readonly #readRange: ReadRange
  readonly #copies = new Map<string, State>()
  readonly #opening = new KeyedSingleFlight<string, State | null>()
  readonly #stopping = new AbortController()
  #made = 0

  constructor(parts: { cache: ItemsCache; clock: Clock; readRange: ReadRange }) {
    this.#cache = parts.cache
    this.#clock = parts.clock
    this.#readRange = parts.readRange
  }

  stop(): void {
    this.#stopping.abort(new ScrapdeckError('STOPPING', sentence('runs.scrapdeck_stopping')))
  }

  /**
   * Copies at least `wantedBytes`, or the whole file if it is smaller. Null: the node has no such file. Rejects with
   * ITEMS_COPYING (`data`: copiedBytes, sizeBytes) after 20 s while copying continues, with ITEMS_TOO_LARGE, or with
   * a NODE_ code.
   */
  async get(attempt: Attempt, wantedBytes: number, signal?: AbortSignal): Promise<Copy | null> {
    const key = `${attempt.jobId} ${attempt.number}`
    const state = await this.#current(key, attempt)
    if (state === null) return null
    const { copyBytes } = this.#cache.limits
    if (Math.min(wantedBytes, state.sizeBytes) > copyBytes) {
      const text = sentence('runs.items_too_large_to_copy', {
        gigabytes: inGb(state.sizeBytes),
        limit: inGb(copyBytes)
      })
      throw new ScrapdeckError('ITEMS_TOO_LARGE', text)
    }
    state.askedAtMs = this.#clock.nowMs()
    state.wantedBytes = Math.max(state.wantedBytes, Math.min(wantedBytes, state.sizeBytes))
    if (state.copiedBytes < state.wantedBytes) await this.#wait(key, attempt, state, signal)
    return state
  }

  async #wait(key: string, attempt: Attempt, state: State, signal: AbortSignal | undefined): Promise<void> {
    if (
      state.loading === null &&
      [...this.#copies.values()].filter(({ loading }) => loading !== null).length >= COPYING_AT_ONCE
    ) {
      throw new ScrapdeckError('TOO_MANY_REQUESTS', sentence('runs.too_many_item_copies'))
    }
    state.loading ??= this.#load(key, attempt, state).finally(() => {
      state.loading = null
    })
    const { loading } = state
    loading.catch(() => {})
    const stop = new AbortController()
    try {
      await Promise.race([
        loading,
        sleep(this.#clock, WAIT_MS, signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]))
      ])
    } finally {
      stop.abort()
    }
    signal?.throwIfAborted()
    if (state.copiedBytes >= state.wantedBytes) return
    const { copiedBytes, sizeBytes } = state
    const text = sentence('runs.items_being_copied', { copied: inGb(copiedBytes), total: inGb(sizeBytes) })
    throw new ScrapdeckError('ITEMS_COPYING', text, { data: { copiedBytes, sizeBytes } })
  }

  async #current(key: string, attempt: Attempt): Promise<State | null> {
    const state = this.#copies.get(key)
    if (state === undefined || (await stat(state.path).catch(() => null)) === null) return this.#openOnce(key, attempt)
    const mayHaveGrown = attempt.endedAtMs === null || state.checkedAtMs <= attempt.endedAtMs
    const isDue = mayHaveGrown && this.#clock.nowMs() - state.checkedAtMs >= CHECK_EVERY_MS
    if (!isDue || state.loading !== null) return state
    if (!(await this.#append(attempt, state)) || state.sizeBytes < state.copiedBytes)
      return this.#openOnce(key, attempt)
    return state
  }

  #openOnce(key: string, attempt: Attempt): Promise<State | null> {
    return this.#opening.run(key, () => this.#open(key, attempt))
  }

  async #open(key: string, attempt: Attempt): Promise<State | null> {
    this.#copies.delete(key)
    const path = this.#cache.pathOf(`copy-${++this.#made}.jl`)
    const state: State = {
      path,
      copiedBytes: 0,
      sizeBytes: 0,
      checkedAtMs: 0,
      wantedBytes: 0,
      askedAtMs: 0,
      loading: null,
      appending: null
    }
    if (!(await this.#append(attempt, state))) return null
    this.#copies.set(key, state)
    for (const oldest of [...this.#copies.keys()].slice(0, -COPIES_MAX)) this.#copies.delete(oldest)
    return state
  }

  async #load(key: string, attempt: Attempt, state: State): Promise<void> {
    await this.#cache.using([state.path], async () => {
      while (state.copiedBytes < state.wantedBytes) {
        if (this.#clock.nowMs() - state.askedAtMs > ABANDONED_MS) return
        const before = state.copiedBytes
        if ((await this.#append(attempt, state)) && state.copiedBytes > before) continue
        this.#copies.delete(key)
        await rm(state.path, { force: true })
        throw new ScrapdeckError('ITEMS_NOT_FOUND', sentence('runs.items_changed'))
      }
    })
  }

  #append(attempt: Attempt, state: State): Promise<boolean> {
    state.appending ??= this.#appendNext(attempt, state).finally(() => {
      state.appending = null
    })
    return state.appending
  }

  async #appendNext(attempt: Attempt, state: State): Promise<boolean> {
    const limitBytes = Math.min(PIECE_BYTES, this.#cache.limits.copyBytes)
    const piece = await this.#readRange(attempt, { offset: state.copiedBytes, limitBytes }, this.#stopping.signal)
    if (piece === null) return false
    state.checkedAtMs = this.#clock.nowMs()
    state.sizeBytes = piece.sizeBytes
    if (piece.offset !== state.copiedBytes) return true
    await using file = await open(state.path, 'a', 0o600)
    await file.write(piece.bytes)
    state.copiedBytes += piece.bytes.length
    return true
  }
}

function inGb(bytes: number): string {
  return (bytes / 1e9).toFixed(bytes < 1e9 ? 2 : 1)
}
