import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, createWriteStream, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ItemsProcess } from '../src/engine/runs/items/items-process.ts'
import type { ItemsSource, PageInput } from '../src/engine/runs/items/messages.ts'
import { systemClock } from '../src/engine/runtime/clock.ts'
import { silentLogger } from '../src/engine/runtime/logger.ts'
import { compare, type Figure, round } from './figure.ts'
import { machine, percentile } from './support/bench-engine.ts'
import { progress } from './support/sides.ts'

export const about =
  'the items of a run of 500 MB: first page, sorted and filtered pages, statistics of a field, through the process that reads them'

export const run = (): AsyncIterable<Figure> => measure({ bytes: 500_000_000, rounds: 7 })

const WORDS = Array.from({ length: 2_000 }, (_, at) => `word${(at * 7_919) % 2_000}`)
const CALL = { timeoutMs: 120_000, isHeavy: false }
const PAGE: PageInput = { offset: 0, limit: 50, columns: null, sort: null, filter: [] }

/**
 * Reads a file from the page cache. The bounds are a bare `SELECT * … LIMIT 50` and a query for the same statistics,
 * by a running DuckDB process without a sandbox, with DuckDB's own type inference.
 */
export async function* measure({ bytes, rounds }: { bytes: number; rounds: number }): AsyncGenerator<Figure> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-items-'))
  const items = new ItemsProcess({ clock: systemClock, logger: silentLogger, whyNoProcess: null })
  try {
    progress(`items: writing ${Math.round(bytes / 1e6)} MB of JSON lines`)
    const { path, count } = await writeItems(directory, bytes)
    const source = sourceOf(directory, path)
    const conditions = { ...machine(), items: count, megabytes: Math.round(source.sizeBytes / 1e6), rounds, threads: 2 }
    const rawMs = await timeOf(() => readRaw(path))
    progress('items: the first page, with the start of the process')
    const coldMs = await timeOf(() => items.call('page', { source, ...PAGE }, CALL))
    const page = await repeat(rounds, () => items.call('page', { source, ...PAGE }, CALL))
    const sorted = await repeat(rounds, () =>
      items.call('page', { source, ...PAGE, sort: { field: 'price', descending: true } }, CALL)
    )
    const filter = [{ field: 'description', operator: 'contains' as const, value: 'word17 word3' }]
    const filtered = await repeat(rounds, () => items.call('page', { source, ...PAGE, filter }, CALL))
    const price = await repeat(rounds, () => items.call('fieldStatistics', { source, field: 'price' }, CALL))
    const text = await repeat(rounds, () => items.call('fieldStatistics', { source, field: 'description' }, CALL))
    items.stop()
    progress('items: the same with DuckDB alone')
    const peer = await measurePeer(path, rounds)
    yield { figure: 'first_page_cold_ms', value: round(coldMs), unit: 'ms', conditions }
    yield { figure: 'first_page_ms', value: round(page), unit: 'ms', conditions }
    yield { figure: 'sorted_page_ms', value: round(sorted), unit: 'ms', conditions }
    yield { figure: 'filtered_page_ms', value: round(filtered), unit: 'ms', conditions }
    yield { figure: 'field_stats_s', value: round(price / 1000), unit: 's', conditions }
    yield { figure: 'field_stats_text_s', value: round(text / 1000), unit: 's', conditions }
    yield { figure: 'raw_read_s', value: round(rawMs / 1000), unit: 's', conditions }
    const first = { unit: 'ms', boundIs: 'a bare LIMIT 50 of DuckDB in a running process', wanted: { atMost: 2 } }
    yield* compare('first_page', { ours: page, bound: peer.pageMs, ...first }, conditions)
    const stats = { unit: 's', boundIs: 'the same figures from DuckDB, unlocked and alone', wanted: { atMost: 6 } }
    yield* compare('field_stats', { ours: price / 1000, bound: peer.statsMs / 1000, ...stats }, conditions)
  } finally {
    items.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function writeItems(directory: string, bytes: number): Promise<{ path: string; count: number }> {
  const path = join(directory, 'run.jl')
  const file = createWriteStream(path, { highWaterMark: 1024 * 1024 })
  let written = 0
  let count = 0
  for (let seed = 1; written < bytes; ) {
    const lines: string[] = []
    for (let line = 0; line < 1_000; line += 1, count += 1) {
      seed = (seed * 48_271) % 2_147_483_647
      lines.push(lineOf(count, seed))
    }
    const text = lines.join('')
    written += text.length
    if (!file.write(text)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
  return { path, count }
}

function lineOf(at: number, seed: number): string {
  const word = (shift: number) => WORDS[(seed >> shift) % WORDS.length]!
  const description = Array.from({ length: 42 }, (_, index) => WORDS[(seed + index * at) % WORDS.length]!).join(' ')
  return `${JSON.stringify({
    url: `https://shop.example/products/${at}`,
    name: `${word(3)} ${word(5)} ${word(7)}`,
    price: (seed % 100_000) / 100,
    currency: ['EUR', 'USD', 'GBP'][seed % 3],
    tags: [word(2), word(4)],
    rating: at % 7 === 0 ? null : (seed % 5) + 1,
    ...(at % 11 === 0 && { discount: (seed % 90) / 100 }),
    description
  })}\n`
}

function sourceOf(directory: string, path: string): ItemsSource {
  const spillDirectory = join(directory, 'spill')
  mkdirSync(spillDirectory)
  const { size, ino } = statSync(path)
  return {
    path,
    fileId: String(ino),
    sizeBytes: size,
    convertedPath: `${path}.lines`,
    convertedMaxBytes: 0,
    spillDirectory
  }
}

async function readRaw(path: string): Promise<void> {
  for await (const _piece of createReadStream(path, { highWaterMark: 1024 * 1024 }));
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

async function repeat(rounds: number, work: () => Promise<unknown>): Promise<number> {
  await work()
  const times: number[] = []
  for (let each = 0; each < rounds; each += 1) times.push(await timeOf(work))
  return percentile(times, 50)
}

const PEER = `
import { DuckDBInstance } from '@duckdb/node-api'
const [path, rounds] = process.argv.slice(1)
const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect()
const median = async (sql) => {
  await connection.runAndReadAll(sql, [path])
  const times = []
  for (let each = 0; each < Number(rounds); each += 1) {
    const startMs = performance.now()
    await connection.runAndReadAll(sql, [path])
    times.push(performance.now() - startMs)
  }
  return times.sort((one, other) => one - other)[Math.floor(times.length / 2)]
}
const pageMs = await median('SELECT * FROM read_json($1) LIMIT 50')
const statsMs = await median('SELECT count(*), count(price), approx_count_distinct(price), min(price), max(price), avg(price), approx_top_k(price, 20) FROM read_json($1)')
console.log(JSON.stringify({ pageMs, statsMs }))
`

async function measurePeer(path: string, rounds: number): Promise<{ pageMs: number; statsMs: number }> {
  const peer = spawn(process.execPath, ['--input-type=module', '-e', PEER, path, String(rounds)], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit']
  })
  let said = ''
  peer.stdout.on('data', (piece: Buffer) => {
    said += piece.toString()
  })
  const [code] = (await once(peer, 'close')) as [number | null]
  if (code !== 0) throw new Error('DuckDB alone failed, see above')
  return JSON.parse(said) as { pageMs: number; statsMs: number }
}
