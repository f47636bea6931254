import { InvalidArgumentError } from 'commander'

const UNIT_MS = { s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** `90` and `90s`, `15m`, `2h`, `7d`, `1w`, as milliseconds. */
export function duration(text: string): number {
  const [, digits, unit = 's'] = /^(\d{1,7})\s*(s|m|min|h|d|w)?$/.exec(text) ?? []
  if (digits === undefined || Number(digits) === 0)
    throw new InvalidArgumentError('Write a duration such as 90s, 15m, 2h or 7d.')
  return Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS]
}

/** A time, or how long ago: `2026-12-24T18:00` or `2h`. Returns a function of the current time. */
export function since(text: string): (nowMs: number) => number {
  if (/^\d{1,7}(s|m|min|h|d|w)$/.test(text)) return (nowMs) => nowMs - duration(text)
  const atMs = Date.parse(text)
  if (!Number.isNaN(atMs)) return () => atMs
  throw new InvalidArgumentError('Write how long ago (30m, 2h, 7d) or a time such as 2026-12-24T18:00.')
}
