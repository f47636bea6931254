import type { Change, ChangeBatch } from '../../../shared/contract/index.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { ChangedThing } from '../../model/records.ts'
import type { ChangeLog } from '../../storage/store.ts'

/** Changes without data. A client that gets one reloads what it shows. */
export type BareKind = Exclude<
  { [One in Change as One['kind']]: keyof One extends 'kind' ? One['kind'] : never }[Change['kind']],
  'jobs'
>

/** Changes that the change log does not contain. The code that makes them must call `touch`. */
export type TouchedThing =
  | `node:${string}`
  | `waiting:${string}`
  | `progress:${string}`
  | 'figures'
  | 'problems'
  | 'python'
  | 'environments'
  | BareKind

export interface ChangeFeedOptions {
  store: ChangeLog
  clock: Clock
  /** Identifies this run of the engine. */
  runId: string
  /** Describes stored changes. A removed thing becomes a `…_removed` change. */
  describeStored: (things: ChangedThing[]) => Promise<Change[]>
  describeTouched: (things: TouchedThing[]) => Promise<Change[]>
}

const BATCH_INTERVAL_MS = 100
const BATCH_SIZE_MAX = 500
/**
 * The maximum number of schedules per batch. Each schedule includes its last runs, so larger batches would block the
 * event loop.
 */
const SCHEDULES_A_BATCH_MAX = 100

/**
 * A resumable stream of changes. It buffers nothing per subscriber: the store's change log lists what changed after a
 * position, and the feed reads the current state when it sends. A slow subscriber therefore gets fewer, larger batches
 * and never outdated state. A cursor is `<position in the change log>.<run>.<number of touches>`.
 */
export class ChangeFeed {
  readonly #options: ChangeFeedOptions
  readonly #volatile = new Map<TouchedThing, number>()
  readonly #wakers = new Set<() => void>()
  readonly #stopListening: () => void
  #volatileCounter = 0
  #closed = false

  constructor(options: ChangeFeedOptions) {
    this.#options = options
    this.#stopListening = options.store.onChange(() => this.#wakeAll())
  }

  touch(thing: TouchedThing): void {
    this.#volatileCounter += 1
    this.#volatile.set(thing, this.#volatileCounter)
    this.#wakeAll()
  }

  forget(thing: TouchedThing): void {
    this.#volatile.delete(thing)
  }

  /** Without `after`, starts at the current position. The first batch is empty and is sent immediately. */
  async *subscribe(after: string | undefined, signal?: AbortSignal): AsyncGenerator<ChangeBatch, void> {
    const { store, clock, runId } = this.#options
    let position = await store.changeCursor()
    let counter = this.#volatileCounter
    let reset = false
    const asked = after === undefined ? null : parseCursor(after)
    if (asked !== null && asked.position <= position) {
      position = asked.position
      counter = asked.runId === runId ? asked.counter : 0
    } else if (after !== undefined) {
      // The cursor is invalid or from another database, so the client must start over.
      reset = true
      counter = 0
    }
    yield { cursor: formatCursor(position, runId, counter), reset, changes: [] }

    while (!this.#closed && signal?.aborted !== true) {
      const waker = this.#listen(signal)
      const volatile = [...this.#volatile].filter(([, at]) => at > counter).map(([thing]) => thing)
      const nextCounter = this.#volatileCounter
      const stored = cutOff(await store.listChanges(position, BATCH_SIZE_MAX))
      if (stored.changes.length === 0 && volatile.length === 0 && !stored.reset) {
        await waker.woken
        continue
      }
      waker.cancel()
      const changes = [
        ...(await this.#options.describeStored(stored.changes)),
        ...(await this.#options.describeTouched(volatile))
      ]
      position = stored.cursor
      counter = nextCounter
      yield { cursor: formatCursor(position, runId, counter), reset: stored.reset, changes }
      await sleep(clock, BATCH_INTERVAL_MS, signal)
    }
  }

  close(): void {
    this.#closed = true
    this.#stopListening()
    this.#wakeAll()
  }

  #listen(signal: AbortSignal | undefined): { woken: Promise<void>; cancel: () => void } {
    const { promise: woken, resolve } = Promise.withResolvers<void>()
    const wake = () => {
      this.#wakers.delete(wake)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    this.#wakers.add(wake)
    signal?.addEventListener('abort', wake, { once: true })
    return { woken, cancel: wake }
  }

  #wakeAll(): void {
    for (const wake of [...this.#wakers]) wake()
  }
}

function cutOff<List extends { changes: ChangedThing[]; cursor: number }>(list: List): List {
  let schedules = 0
  const end = list.changes.findIndex(({ noun }) => noun === 'schedule' && (schedules += 1) > SCHEDULES_A_BATCH_MAX)
  if (end === -1) return list
  const changes = list.changes.slice(0, end)
  return { ...list, changes, cursor: changes.at(-1)!.cursor }
}

function formatCursor(position: number, runId: string, counter: number): string {
  return `${position}.${runId}.${counter}`
}

function parseCursor(cursor: string): { position: number; runId: string; counter: number } | null {
  const match = /^(\d{1,15})\.([0-9a-f]{1,32})\.(\d{1,15})$/.exec(cursor)
  if (match === null) return null
  return { position: Number(match[1]), runId: match[2]!, counter: Number(match[3]) }
}
