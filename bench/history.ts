import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/engine/runtime/clock.ts'
import { silentLogger } from '../src/engine/runtime/logger.ts'
import { openSqliteStore } from '../src/engine/store/sqlite/sqlite-store.ts'
import type { JobFilter } from '../src/shared/contract/index.ts'
import { aNodeId } from '../src/shared/testing/ids.ts'
import type { Figure } from './figure.ts'
import { machine, percentile } from './support/bench-engine.ts'
import { seedDatabase } from './support/seed-database.ts'
import { progress } from './support/sides.ts'

export const about = 'the list of jobs over a long history: its first page and its facets, under every filter'

const PAGE = 100
const NODE = `n${'0'.repeat(29)}13`

/** Every filter of the list, alone and combined; some match nearly all jobs, some a few, some none. */
const filtersAt = (nowMs: number): JobFilter[] => [
  {},
  { status: ['succeeded'] },
  { status: ['failed', 'lost'] },
  { status: ['cancelled'] },
  { project: 'p7' },
  { project: 'p*' },
  { spider: 's3' },
  { project: 'p1*', spider: '*3' },
  { nodeId: aNodeId(NODE) },
  { nodeId: aNodeId(NODE), status: ['failed'], project: 'p7' },
  { text: 'p1' },
  { text: 's3', status: ['failed'] },
  { text: 'nothing is called so' },
  { text: (nowMs - 86_400_000).toString(16).padStart(12, '0').slice(0, 10) },
  { sinceMs: nowMs - 3_600_000 },
  { sinceMs: nowMs - 7 * 86_400_000, status: ['failed'], project: 'p7', spider: 's*' },
  // The middle of the history: as far as possible from both ends.
  { sinceMs: nowMs - 15 * 86_400_000 },
  { sinceMs: nowMs - 20 * 86_400_000, text: 's4', nodeId: aNodeId(NODE) }
]

export const run = (): AsyncIterable<Figure> => measure({ sizes: [1_000, 100_000, 1_000_000], rounds: 20 })

/** Runs each filter `rounds` times; the figures cover all filters, and the slowest one is named. */
export async function* measure({ sizes, rounds }: { sizes: number[]; rounds: number }): AsyncGenerator<Figure> {
  for (const finished of sizes) {
    const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-history-'))
    try {
      progress(`history: writing ${finished} finished jobs`)
      await seedDatabase(directory, { finished, queued: 0, live: 0 })
      const store = await openSqliteStore({
        path: join(directory, 'scrapdeck.sqlite'),
        clock: systemClock,
        logger: silentLogger
      })
      const page = (filter: JobFilter) => store.listJobs(filter, { before: null, limit: PAGE })
      const measured = [
        ['page_p95_ms', await timesOf(page, rounds)],
        ['facets_p95_ms', await timesOf((filter) => store.countFacets(filter), rounds)]
      ] as const
      await store.close()
      for (const [figure, { tookMs, slowest }] of measured) {
        const conditions = { finished, page: PAGE, rounds, slowest_filter: slowest, ...machine() }
        yield { figure, value: Math.round(percentile(tookMs, 0.95) * 100) / 100, unit: 'ms', conditions }
      }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

async function timesOf(ask: (filter: JobFilter) => Promise<unknown>, rounds: number) {
  const tookMs: number[] = []
  let slowest = ''
  let slowestMs = 0
  for (const filter of filtersAt(Date.now())) {
    const ofFilter: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const startedMs = performance.now()
      await ask(filter)
      ofFilter.push(performance.now() - startedMs)
    }
    tookMs.push(...ofFilter)
    if (percentile(ofFilter, 0.5) > slowestMs) {
      slowestMs = percentile(ofFilter, 0.5)
      slowest = JSON.stringify(filter)
    }
  }
  return { tookMs, slowest: `${slowest} (${Math.round(slowestMs)} ms)` }
}
