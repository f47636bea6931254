import type { AlertChannelId } from '../../../shared/contract/index.ts'
import { MAX_MESSAGES_PER_HOUR } from '../../../shared/contract/fixed-values.ts'
import { Heap } from '../../runtime/heap.ts'

export const LIMIT_WINDOW_MS = 3_600_000

/** Returns the maximum number of messages per hour (README.md, rule 9). null: unlimited. */
export function mostBefore(perHour: number | null, isCritical: boolean, kind: 'news' | 'repeat'): number | null {
  if (perHour === null) return null
  const most = isCritical ? 2 * perHour : perHour
  return kind === 'news' ? most : Math.ceil(most / 2)
}

export class RecentMessages {
  readonly #sent = new Map<AlertChannelId, number[]>()

  add(channelId: AlertChannelId, atMs: number): void {
    let times = this.#sent.get(channelId)
    if (times === undefined) this.#sent.set(channelId, (times = []))
    const index = times.findLastIndex((sentMs) => sentMs <= atMs) + 1
    times.splice(index, 0, atMs)
    if (times.length > 2 * MAX_MESSAGES_PER_HOUR) times.shift()
  }

  /**
   * Returns when the last hour will contain fewer than `most` messages if none are sent before. The result can be in
   * the past.
   */
  roomAtMs(channelId: AlertChannelId, most: number | null): number {
    const times = most === null ? undefined : this.#sent.get(channelId)
    const oldestMs = times?.[times.length - most!]
    return oldestMs === undefined ? Number.NEGATIVE_INFINITY : oldestMs + LIMIT_WINDOW_MS
  }
}

interface Queue<Item> {
  channelId: AlertChannelId
  critical: Set<Item>
  other: Set<Item>
  /** When the limit next allows a waiting item to be sent. Infinity: no item waits. */
  releaseAtMs: number
}

interface HeldParts<Item> {
  roomAtMs: (channelId: AlertChannelId, isCritical: boolean) => number
  compare: (one: Item, other: Item) => number
}

export class Held<Item extends { channelId: AlertChannelId }> {
  readonly #parts: HeldParts<Item>
  readonly #queues = new Map<AlertChannelId, Queue<Item>>()
  /** Can contain outdated times. A time counts only if it is the `releaseAtMs` of its queue. */
  readonly #moments = new Heap<{ atMs: number; queue: Queue<Item> }>([], (one, other) => one.atMs < other.atMs)

  constructor(parts: HeldParts<Item>) {
    this.#parts = parts
  }

  add(item: Item, isCritical: boolean, atMs: number): void {
    const { channelId } = item
    let queue = this.#queues.get(channelId)
    if (queue === undefined) {
      queue = { channelId, critical: new Set(), other: new Set(), releaseAtMs: Number.POSITIVE_INFINITY }
      this.#queues.set(channelId, queue)
    }
    ;(isCritical ? queue.critical : queue.other).add(item)
    this.#plan(queue, Math.max(atMs, this.#parts.roomAtMs(channelId, isCritical)))
  }

  remove(item: Item): void {
    const queue = this.#queues.get(item.channelId)
    queue?.critical.delete(item)
    queue?.other.delete(item)
  }

  nextMs(): number {
    for (let next = this.#moments.first(); next !== undefined; next = this.#moments.first()) {
      if (next.queue.releaseAtMs === next.atMs) return next.atMs
      this.#moments.removeFirst()
    }
    return Number.POSITIVE_INFINITY
  }

  release(atMs: number, send: (item: Item) => void): void {
    while (this.nextMs() <= atMs) {
      const { queue } = this.#moments.removeFirst()!
      queue.releaseAtMs = Number.POSITIVE_INFINITY
      for (const isCritical of [true, false]) this.#releaseOf(queue, isCritical, atMs, send)
    }
  }

  #releaseOf(queue: Queue<Item>, isCritical: boolean, atMs: number, send: (item: Item) => void): void {
    const items = isCritical ? queue.critical : queue.other
    const roomAtMs = () => this.#parts.roomAtMs(queue.channelId, isCritical)
    if (items.size > 0 && roomAtMs() <= atMs) {
      for (const item of [...items].sort(this.#parts.compare)) {
        if (roomAtMs() > atMs) break
        items.delete(item)
        send(item)
      }
    }
    if (items.size > 0) this.#plan(queue, roomAtMs())
  }

  #plan(queue: Queue<Item>, atMs: number): void {
    if (atMs >= queue.releaseAtMs) return
    queue.releaseAtMs = atMs
    this.#moments.push({ atMs, queue })
  }
}
