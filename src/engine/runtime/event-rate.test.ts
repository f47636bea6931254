import { expect, it } from 'vitest'
import { EventRate } from './event-rate.ts'

const rateAfter = (events: number, everyMs: number): number => {
  const rate = new EventRate()
  let last = 0
  for (let index = 0; index < events; index += 1) last = rate.note(5_000_000 + index * everyMs)
  return last
}

it.each([10, 100, 1_000])('%d events per second are told as about as many', (perSecond) => {
  expect(rateAfter(perSecond * 10, 1_000 / perSecond) / perSecond).toBeCloseTo(1, 0)
})

it('the first is one, and so is one after a long pause', () => {
  const rate = new EventRate()
  expect(rate.note(123_456)).toBe(1)
  for (let index = 0; index < 100; index += 1) rate.note(123_457)
  expect(rate.note(223_457)).toBeCloseTo(1)
})
