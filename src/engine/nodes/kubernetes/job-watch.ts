import { type Clock, sleep } from '../../runtime/clock.ts'
import type { KubernetesApi } from './api.ts'

const WATCH_SECONDS = 300
const AGAIN_MS = 2_000
/** The maximum length of a line, far longer than any event. A longer line ends the watch. */
const LINE_MAX = 4_000_000

/**
 * Watches a node's pods only to learn early that a new list is due. It reads nothing else from the events, so a watch
 * that hangs, misses events or ends with 410 costs no more than the usual wait for the next list.
 */
export async function watchPods(options: {
  api: KubernetesApi
  path: string
  labelSelector: string
  resourceVersion: () => string | null
  onEvent: () => void
  clock: Clock
  signal: AbortSignal
}): Promise<void> {
  const { api, path, labelSelector, resourceVersion, onEvent, clock, signal } = options
  while (!signal.aborted) {
    const version = resourceVersion()
    if (version !== null) {
      const lines = new EventLines(onEvent)
      const query = {
        watch: '1',
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(WATCH_SECONDS),
        labelSelector,
        resourceVersion: version
      }
      const request = { path, query, timeoutMs: (WATCH_SECONDS + 15) * 1000 }
      try {
        await api.send(
          request,
          ({ status }) =>
            (piece) =>
              status === 200 && lines.add(piece) ? 'more' : 'enough',
          signal
        )
      } catch {
        // The next list shows whether the cluster responds.
      }
    }
    await sleep(clock, AGAIN_MS, signal).catch(() => {})
  }
}

export class EventLines {
  readonly #onEvent: () => void
  #begin = ''
  #length = 0

  constructor(onEvent: () => void) {
    this.#onEvent = onEvent
  }

  /** false: the watch ended with an error (410), or the response is not an event stream. */
  add(piece: Buffer): boolean {
    for (let from = 0; from < piece.length; ) {
      const newline = piece.indexOf(10, from)
      const to = newline === -1 ? piece.length : newline
      if (this.#begin.length < 100) this.#begin += piece.toString('latin1', from, Math.min(to, from + 100))
      this.#length += to - from
      if (this.#length > LINE_MAX) return false
      if (newline === -1) return true
      const [, type] = /^\{"type":"([A-Z]+)"/.exec(this.#begin) ?? []
      this.#begin = ''
      this.#length = 0
      if (type === undefined || type === 'ERROR') return false
      if (type !== 'BOOKMARK') this.#onEvent()
      from = newline + 1
    }
    return true
  }
}
