import { useSyncExternalStore } from 'react'

/** One clock for the whole window: all relative times change in the same frame. Without any, the clock stops. */
const listeners = new Set<() => void>()
let nowMs = Date.now()
let timer: ReturnType<typeof setInterval> | null = null

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === null) {
    nowMs = Date.now()
    timer = setInterval(() => {
      nowMs = Date.now()
      for (const each of [...listeners]) each()
    }, 1000)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }
}
