import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import type { Service } from '../e2e/support/service.ts'
import { compare, type Figure, type Goal } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { logLines } from './support/log-lines.ts'
import { startRunningLog } from './support/running-log.ts'
import { median, progress } from './support/sides.ts'

export const about = 'A log of 1 GB: its first screen, its lines, and searches of all of it, beside wc and grep'
export const needsSetup = true

/**
 * Requests a log of 1 GB over HTTP, as the UI does. The file is in the page cache on all sides. Both our search and
 * grep count all matches.
 */
export const run = () => measure({ megabytes: 1_000, rounds: 5 })

const NEEDLE = 'product-77777'
const EXPRESSION = 'Crawled \\([0-9]+\\) <GET [^>]*product-7777[0-9]*\\.html'

export async function measure({ megabytes, rounds }: { megabytes: number; rounds: number }): Promise<Figure[]> {
  const { service, jobId, path, stop } = await startRunningLog()
  try {
    write(path, megabytes)
    const size = statSync(path).size
    const restMb = residentMb(service)
    const firstScreen: number[] = []
    for (let round = 0; round < rounds * 4; round += 1) firstScreen.push(await timeOf(() => firstChunk(service, jobId)))
    progress(`log-open: first screen ${Math.round(median(firstScreen))} ms`)

    const took = { index: [] as number[], literal: [] as number[], regex: [] as number[] }
    const bound = { index: [] as number[], literal: [] as number[], regex: [] as number[] }
    let mostMb = restMb
    const watching = setInterval(() => {
      mostMb = Math.max(mostMb, residentMb(service))
    }, 20)
    const search = async (text: string, isRegex: boolean): Promise<number> => {
      let matches = 0
      const parts = await service.client.logs.search({ jobId, text, isRegex, matchesCase: true, mostLines: 1_000 })
      for await (const part of parts) matches = part.matches
      return matches
    }
    for (let round = 0; round < rounds; round += 1) {
      // The index of a growing log continues where it stopped, so each round needs a new file without an index.
      took.index.push(await timeOf(() => service.client.logs.locate({ jobId, line: 1_000 + round })))
      bound.index.push(peer('wc', ['-l', path]).ms)
      let ours = 0
      took.literal.push(await timeOf(async () => (ours = await search(NEEDLE, false))))
      same(ours, peer('grep', ['-c', '-F', NEEDLE, path], bound.literal).text)
      took.regex.push(await timeOf(async () => (ours = await search(EXPRESSION, true))))
      same(ours, peer('grep', ['-c', '-E', EXPRESSION, path], bound.regex).text)
      progress(
        `log-open ${round + 1}/${rounds}: ${Math.round(took.literal.at(-1)!)} and ${Math.round(took.regex.at(-1)!)} ms`
      )
    }
    clearInterval(watching)
    const conditions = { log_bytes: size, rounds, needle: NEEDLE, expression: EXPRESSION, ...machine() }
    const figure = (name: string, value: number, unit: string, goal?: Goal): Figure => ({
      figure: name,
      value,
      unit,
      conditions,
      ...(goal === undefined ? {} : { goal })
    })
    const against = (name: string, ours: number[], peers: number[], boundIs: string) =>
      compare(
        name,
        { ours: median(ours), bound: median(peers), unit: 'ms', boundIs, wanted: { atMost: 3 } },
        conditions
      )
    return [
      figure('first_screen_ms', Number(median(firstScreen).toFixed(1)), 'ms', { atMost: 50 }),
      // Only the first call counts all lines.
      ...against('index', took.index.slice(0, 1), bound.index, 'wc -l'),
      ...against('literal', took.literal, bound.literal, 'grep -cF'),
      ...against('regex', took.regex, bound.regex, 'grep -cE'),
      figure('extra_mb', Math.round(mostMb - restMb), 'MB', { atMost: 100 })
    ]
  } finally {
    await stop()
  }
}

function write(path: string, megabytes: number): void {
  const file = openSync(path, 'a')
  for (let written = 0, seed = 1; written < megabytes * 1_000_000; seed += 1) {
    written += writeSync(file, logLines({ bytes: 10_000_000, seed, startMs: Date.UTC(2026, 10, 2) + seed * 3_600_000 }))
  }
  closeSync(file)
}

async function firstChunk({ client }: Service, jobId: string): Promise<void> {
  const chunks = await client.logs.tail({ jobId: jobId as never, tailBytes: 262_144 })
  await chunks.next()
  await chunks.return?.(undefined)
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const beganAtMs = performance.now()
  await work()
  return performance.now() - beganAtMs
}

function peer(program: string, args: string[], into?: number[]): { ms: number; text: string } {
  const beganAtMs = performance.now()
  const { stdout } = spawnSync(program, args, { encoding: 'utf8' })
  const ms = performance.now() - beganAtMs
  into?.push(ms)
  return { ms, text: stdout.trim() }
}

function same(ours: number, theirs: string): void {
  if (String(ours) !== theirs) throw new Error(`Ours found ${ours} lines, grep ${theirs}`)
}

function residentMb(service: Service): number {
  const status = readFileSync(`/proc/${service.pid()}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_000
}
