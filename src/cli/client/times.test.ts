import { expect, it } from 'vitest'
import { duration, moment, momentIn, since } from './times.ts'

const wall = (...parts: [number, number, number, number?, number?, number?]) => new Date(...parts).getTime()

it.each([
  ['2026-12-24T18:00', wall(2026, 11, 24, 18)],
  ['2026-12-24 18:00:05', wall(2026, 11, 24, 18, 0, 5)],
  ['2026-12-24', wall(2026, 11, 24, 0)],
  ['2028-02-29T10:00:00Z', Date.UTC(2028, 1, 29, 10)],
  ['2026-12-24T18:00:00+01:00', Date.UTC(2026, 11, 24, 17)],
  ['2026-12-24T18:00:00.250Z', Date.UTC(2026, 11, 24, 18)]
])('%s is a time', (text, atMs) => {
  expect(moment(text)).toBe(atMs)
})

it('a time is in the given zone, unless it has an offset', () => {
  expect(momentIn('Asia/Tokyo', '2026-12-24T18:00')).toBe(Date.UTC(2026, 11, 24, 9))
  expect(momentIn('Asia/Tokyo', '2026-12-24T18:00Z')).toBe(Date.UTC(2026, 11, 24, 18))
  expect(momentIn(undefined, '2026-12-24')).toBe(wall(2026, 11, 24, 0))
  expect(() => momentIn('UTC', 'noon')).toThrow('noon is not a time')
})

// Date.parse accepts each of these.
it.each(['5', '7', 'Dec 24', '2026-02-31T10:00', '2026-02-29', '2026-12-24T25:00', '2026-13-01', '12/24/2026', ''])(
  '%j is not a time',
  (text) => {
    expect(() => moment(text)).toThrow('Write a time such as 2026-12-24T18:00')
    expect(() => since(text)).toThrow('Write how long ago (30m, 2h, 7d) or a time')
  }
)

it('a duration has a unit or is in seconds', () => {
  expect([duration('90'), duration('15m'), duration('2h')]).toEqual([90_000, 900_000, 7_200_000])
  expect(() => duration('0')).toThrow('Write a duration such as 90s')
})
