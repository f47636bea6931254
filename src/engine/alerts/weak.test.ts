import { expect, test } from 'vitest'
import type { AlertChannelId } from '../../shared/contract/index.ts'
import { AlertBook } from './alert-book.ts'
import { aFact, aRule, aSetup } from './testing/book-in-time.ts'

// What is known to be weak: each of these tests fails until somebody mends it, and then says so.

const NOW_MS = 1_900_000_000_000
const HOUR_MS = 3_600_000

test.fails('what was pending when a wrong clock was set back still fires in time', () => {
  const book = new AlertBook(() => 'a' as never)
  book.restore(
    { episodes: [], groups: [], told: [] },
    aSetup([aRule({ forSeconds: 60, gatherSeconds: 0 })]),
    NOW_MS + HOUR_MS
  )
  book.receive(aFact('north', { sinceMs: NOW_MS + HOUR_MS }), NOW_MS + HOUR_MS)
  for (let afterMs = 0; afterMs <= 300_000; afterMs += 15_000) {
    book.receive(aFact('north', { sinceMs: NOW_MS }), NOW_MS + afterMs)
    book.advance(NOW_MS + afterMs)
  }
  expect(book.take().messages).toHaveLength(1)
})

test.fails('a node that is down mutes nothing while its own alert is told to nobody', () => {
  let count = 0
  const book = new AlertBook(() => String((count += 1)) as never)
  const late = aRule({ id: 'late', watch: 'job_runs_long', gatherSeconds: 0 })
  const down = aRule({ id: 'down', watch: 'node_down', gatherSeconds: 0, channels: [] as AlertChannelId[] })
  book.restore({ episodes: [], groups: [], told: [] }, aSetup([down, late]), NOW_MS)
  book.receive(aFact('north', { watch: 'node_down', sinceMs: NOW_MS }), NOW_MS)
  book.receive(aFact('job', { watch: 'job_runs_long', sinceMs: NOW_MS, labels: aFact('north').labels }), NOW_MS)
  book.advance(NOW_MS + 1_000)
  expect(book.take().messages).toHaveLength(1)
})
