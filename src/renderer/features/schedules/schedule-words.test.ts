import { describe, expect, it } from 'vitest'
import type { Firing } from '../../../shared/contract/index.ts'
import { missedSinceMs } from './schedule-words.ts'

const aRow = (over: Partial<Firing>) => ({ nominalMs: 0, state: 'fired', count: 1, ...over }) as Firing
const since = (recent: Firing[]) => missedSinceMs({ recent, createdAtMs: 7_000 })

describe('a catch-up of recently missed times', () => {
  it('starts just before the only run of the oldest entry', () => {
    const recent = [
      { nominalMs: 900_000, state: 'missed' as const },
      { nominalMs: 600_000, state: 'missed' as const }
    ]
    expect(since([...recent.map(aRow), aRow({ nominalMs: 300_000 })])).toBe(540_000)
  })

  it('starts after the entry before, if the oldest entry stands for several runs, because it has the time of the newest', () => {
    const missed = aRow({ nominalMs: 900_000, state: 'missed', count: 3 })
    expect(since([missed, aRow({ nominalMs: 300_000 })])).toBe(300_000)
    expect(since([missed])).toBe(7_000)
  })

  it('does not apply if nothing was missed since the last run', () => {
    expect(since([aRow({ nominalMs: 900_000 }), aRow({ nominalMs: 600_000, state: 'missed' })])).toBeNull()
  })
})
