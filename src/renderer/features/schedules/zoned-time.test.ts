import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatIn, formatMoment, formatTimeBeside, fromLocalInput, toLocalInput } from './zoned-time.ts'

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Chatham']

describe('times in a zone', () => {
  it('are read back as the time they were written from, except in a repeated hour', () => {
    const fromMs = Date.UTC(2026, 0, 1)
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), fc.integer({ min: 0, max: 2 * 365 * 24 * 60 }), (zone, minutes) => {
        const atMs = fromMs + minutes * 60_000
        const read = fromLocalInput(toLocalInput(atMs, zone), zone)
        // If two instants have the same time of day, either can be returned, because the clocks show the same for both.
        expect(toLocalInput(read ?? 0, zone)).toBe(toLocalInput(atMs, zone))
        expect(Math.abs((read ?? 0) - atMs)).toBeLessThanOrEqual(3_600_000)
      })
    )
  })

  it('move past a gap', () => {
    const read = fromLocalInput('2026-03-29T02:30', 'Europe/Berlin')
    expect(toLocalInput(read ?? 0, 'Europe/Berlin')).toBe('2026-03-29T03:30')
    expect(fromLocalInput('not a time', 'UTC')).toBeNull()
  })

  it('are shown with their day, and with the year if it is another one', () => {
    const atMs = Date.UTC(2026, 10, 23, 2)
    expect(formatMoment(atMs, 'Europe/Berlin', atMs)).toBe('Mon 23 Nov 03:00')
    expect(formatMoment(atMs, 'Europe/Berlin', Date.UTC(2025, 0, 1))).toBe('Mon 23 Nov 2026 03:00')
    expect(formatTimeBeside(atMs, 'UTC', 'Europe/Berlin')).toBe('02:00')
    expect(formatTimeBeside(atMs, 'America/New_York', 'Europe/Berlin')).toBe('Sun 21:00')
  })

  it('are shown relative to now in two units', () => {
    expect([500, 5_000, 300_000, 7_200_000, 7_500_000, 234_000_000, 1e10].map(formatIn)).toEqual([
      'now',
      'in 5 s',
      'in 5 min',
      'in 2 h',
      'in 2 h 5 min',
      'in 2 d 17 h',
      'in 115 d'
    ])
  })
})
