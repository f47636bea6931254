import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { anAttemptNumber } from '../src/shared/testing/ids.ts'
import { newRetentionPass } from '../src/engine/model/records.ts'
import { connectTo } from '../src/engine/storage/postgres/postgres-driver.ts'
import type { Store } from '../src/engine/storage/store.ts'
import { aNewJob, anAttemptStart, aRetention, entry } from '../src/engine/testing/builders.ts'
import { type Figure, round } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { openBenchStore, startBenchPostgres } from './support/bench-postgres.ts'
import { progress } from './support/sides.ts'

export const about =
  'the store on PostgreSQL: what it grows to over many lives with the same live rows, and claims beside an open snapshot'

interface Size {
  live: number
  /** The numbers of finished jobs after which the sizes are measured. */
  lives: [number, number]
  /** The number of jobs claimed in each of two measurements, with and without an open snapshot. */
  claims: number
}

/** `LIVES` replaces the default of ten million, which takes hours. */
export const run = ([lives = '10000000']: string[] = []): Promise<Figure[]> =>
  measure({ live: 10_000, lives: [Number(lives) / 10, Number(lives)], claims: 20_000 })

const BATCH = 500
const FIRST = anAttemptNumber(1)

export async function measure({ live, lives, claims }: Size): Promise<Figure[]> {
  const postgres = await startBenchPostgres()
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-pg-bloat-'))
  const store = await openBenchStore(directory, postgres.address)
  try {
    await queue(store, live)
    const sizes: number[] = []
    let lived = 0
    for (const until of lives) {
      for (; lived < until; lived += BATCH) {
        if (lived % 100_000 === 0) progress(`pg-bloat: ${lived} lives`)
        await liveAndForget(store)
      }
      sizes.push((await store.storageSums()).database.bytes)
    }
    const without = await claimsPerSecond(store, claims)
    // Another transaction holds a snapshot, so from now on PostgreSQL cannot vacuum dead rows.
    const other = connectTo({ ...postgres.address, schema: `${postgres.address.schema}_other` })
    const send = (text: string) => other.send({ text, values: [] }).result()
    send('SET idle_in_transaction_session_timeout TO 0')
    send('BEGIN ISOLATION LEVEL REPEATABLE READ')
    send('SELECT count(*) FROM pg_class')
    const beside = await claimsPerSecond(store, claims)
    other.end()
    const conditions = {
      live,
      lives: lives.join('-'),
      claims,
      postgres: postgres.version,
      synchronous: 'on',
      ...machine(),
      bytes_before: sizes[0]!,
      bytes_after: sizes[1]!
    }
    return [
      { figure: 'size_ratio', value: round(sizes[1]! / sizes[0]!), unit: 'times', goal: { atMost: 1.2 }, conditions },
      { figure: 'snapshot_ratio', value: round(beside / without), unit: 'times', goal: { atLeast: 0.8 }, conditions },
      { figure: 'claims_per_s', value: Math.round(without), unit: 'jobs/s', conditions }
    ]
  } finally {
    await store.close()
    rmSync(directory, { recursive: true, force: true })
    await postgres.stop()
  }
}

async function queue(store: Store, count: number) {
  const jobs = Array.from({ length: count }, (_, index) => aNewJob({ spider: `s${index % 20}` }))
  for (let first = 0; first < count; first += BATCH) await store.enqueueJobs(jobs.slice(first, first + BATCH))
  return jobs
}

async function liveAndForget(store: Store): Promise<void> {
  const jobs = await queue(store, BATCH)
  await store.beginAttempts(jobs.map((job) => anAttemptStart(job)))
  for (const [from, to] of [
    ['sending', 'accepted'],
    ['accepted', 'running'],
    ['running', 'ended']
  ] as const) {
    await store.applyChanges(
      jobs.map(({ id: jobId }) => ({
        jobId,
        attemptNumber: FIRST,
        from: [from],
        to,
        kind: to,
        entry: entry(to),
        ...(to === 'ended' ? { result: 'succeeded' as const } : {})
      }))
    )
  }
  const nothing = { endedSinceMs: null, newestPerSpider: null, newestPerProject: null, bytesPerProject: null }
  const bounds = {
    nowMs: 1e15,
    defaults: { jobs: { ...nothing, endedSinceMs: 1e15 }, logs: nothing },
    projects: new Map()
  }
  let pass: ReturnType<typeof newRetentionPass> | null = newRetentionPass()
  while (pass !== null) pass = (await store.applyRetention(pass, bounds, { rows: 2 * BATCH, jobs: BATCH })).pass
  await store.prune(aRetention({ changes: 1_000 }), 10 * BATCH)
}

async function claimsPerSecond(store: Store, count: number): Promise<number> {
  const jobs = await queue(store, count)
  const startedMs = performance.now()
  for (let first = 0; first < count; first += BATCH) {
    await store.beginAttempts(jobs.slice(first, first + BATCH).map((job) => anAttemptStart(job)))
  }
  return (count * 1_000) / (performance.now() - startedMs)
}
