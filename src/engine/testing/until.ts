import { setTimeout as delay } from 'node:timers/promises'
import type { FakeClock } from './fake-clock.ts'

const LIMIT_MS = 30_000
const PAUSE_MS = 20

/**
 * Polls until the value is right (truthy by default) and returns it. An error from `ask` ends the wait immediately.
 */
export async function until<Value>(
  what: string,
  ask: () => Value | Promise<Value>,
  isRight: (value: Value) => boolean = Boolean,
  limitMs: number = LIMIT_MS,
  pause: () => Promise<unknown> = () => delay(PAUSE_MS)
): Promise<Value> {
  const deadlineMs = Date.now() + limitMs
  for (;;) {
    const value = await ask()
    if (isRight(value)) return value
    if (Date.now() > deadlineMs)
      throw new Error(`Waited ${limitMs / 1000} s for ${what}. Last seen: ${JSON.stringify(value)}`)
    await pause()
  }
}

/**
 * Waits for a condition that depends on a fake clock and also on the disk or a thread. Advances the clock while
 * waiting.
 */
export async function advanceUntil(clock: FakeClock, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  await until(String(isTrue), isTrue, Boolean, LIMIT_MS, async () => {
    await clock.advanceBy(100)
    await delay(2)
  })
}
