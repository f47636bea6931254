import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import DatabaseConstructor from 'better-sqlite3'
import { systemClock } from '../src/engine/runtime/clock.ts'
import { silentLogger } from '../src/engine/runtime/logger.ts'
import { openSqliteStore } from '../src/engine/storage/sqlite/open-sqlite-store.ts'
import type { JobFilter } from '../src/shared/contract/index.ts'
import { aNodeId } from '../src/shared/testing/ids.ts'
import { compare, type Figure, round } from './figure.ts'
import { machine, percentile } from './support/bench-engine.ts'
import { seedDatabase } from './support/seed-database.ts'
import { progress } from './support/sides.ts'

export const about = 'the list of jobs over a long history: its first page and its facets, under every filter'

const PAGE = 100
const NODE = `n${'0'.repeat(29)}13`

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
  { sinceMs: nowMs - 15 * 86_400_000 },
  { sinceMs: nowMs - 20 * 86_400_000, text: 's4', nodeId: aNodeId(NODE) }
]

const LARGEST = 1_000_000

export const run = (): AsyncIterable<Figure> => measure({ sizes: [1_000, 100_000, LARGEST], rounds: 100 })

/**
 * Sends each filter `rounds` times after as many warm-up requests, because a service that runs for days is warm. The
 * bound of a page is one bare query for the same rows by id. The bound of the facets is one bare indexed count of the
 * newer half of the jobs. Each bound is measured right after its filter, under the same load of the machine.
 */
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
      const bare = openBare(directory)
      const page = (filter: JobFilter) => store.listJobs(filter, { before: null, limit: PAGE })
      const pages = await timesOf(rounds, page, (jobs) => {
        const ids = JSON.stringify(jobs.map(({ id }) => id))
        return () => bare.rows(ids)
      })
      const facets = await timesOf(
        rounds,
        (filter) => store.countFacets(filter),
        () => () => bare.countNewerHalf()
      )
      bare.close()
      await store.close()
      const conditions = { finished, page: PAGE, rounds, ...machine() }
      yield* compare(
        `page_at_${finished}`,
        {
          ours: percentile(pages.ours, 0.95),
          bound: percentile(pages.bound, 0.95),
          unit: 'ms',
          boundIs: 'one bare query of the same rows',
          wanted: { atMost: 3 }
        },
        { ...conditions, slowest_filter: pages.slowest }
      )
      // Distinguishes a slow page from a busy machine: a page waits for two threads, its bound for none.
      const medians = { figure: `page_at_${finished}_slowest_median_ratio`, value: round(pages.slowestRatio) }
      yield { ...medians, unit: 'times', conditions: { ...conditions, slowest_filter: pages.slowest } }
      const facetsConditions = { ...conditions, slowest_filter: facets.slowest }
      const ours = percentile(facets.ours, 0.95)
      // With fewer jobs, the counters make the facets cheaper than any count, so the comparison is meaningless.
      if (finished < LARGEST)
        yield { figure: 'facets_p95_ms', value: round(ours), unit: 'ms', conditions: facetsConditions }
      else {
        const bound = percentile(facets.bound, 0.95)
        const values = { ours, bound, unit: 'ms', boundIs: 'one bare count of half the jobs' }
        yield* compare(`facets_at_${finished}`, { ...values, wanted: { atMost: 2.5 } }, facetsConditions)
      }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

function openBare(directory: string) {
  const database = new DatabaseConstructor(join(directory, 'scrapdeck.sqlite'), { readonly: true })
  database.pragma('cache_size = -65536')
  const rows = database.prepare<[string]>(
    'SELECT jobs.* FROM json_each(?) AS wanted CROSS JOIN jobs ON jobs.id = wanted.value'
  )
  const count = database.prepare<[string], number>('SELECT count(*) FROM jobs WHERE id >= ?').pluck()
  const middle = database
    .prepare<[], string>('SELECT id FROM jobs ORDER BY id LIMIT 1 OFFSET (SELECT count(*) / 2 FROM jobs)')
    .pluck()
    .get()!
  return {
    rows: (ids: string) => rows.all(ids),
    countNewerHalf: () => count.get(middle),
    close: () => database.close()
  }
}

async function timesOf<Answer>(
  rounds: number,
  ask: (filter: JobFilter) => Promise<Answer>,
  boundOf: (answer: Answer) => () => unknown
) {
  const [ours, bound]: [number[], number[]] = [[], []]
  let slowest = ''
  let slowestMs = 0
  let slowestRatio = 0
  for (const filter of filtersAt(Date.now())) {
    const ofFilter = await msOfEach(rounds, () => ask(filter))
    const ofBound = await msOfEach(rounds, boundOf(await ask(filter)))
    ours.push(...ofFilter)
    bound.push(...ofBound)
    const median = percentile(ofFilter, 0.5)
    if (median > slowestMs) {
      slowestMs = median
      slowest = `${JSON.stringify(filter)} (${round(median)} ms)`
      slowestRatio = median / percentile(ofBound, 0.5)
    }
  }
  return { ours, bound, slowest, slowestRatio }
}

async function msOfEach(rounds: number, ask: () => unknown): Promise<number[]> {
  for (let count = 0; count < rounds; count += 1) await ask()
  const tookMs: number[] = []
  for (let count = 0; count < rounds; count += 1) {
    const startedMs = performance.now()
    await ask()
    tookMs.push(performance.now() - startedMs)
  }
  return tookMs
}
