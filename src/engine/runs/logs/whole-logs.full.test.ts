import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FoundLogLine } from '../../../shared/contract/index.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { ThreadPool } from '../../runtime/thread-pool.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../testing/temporary-directory.ts'
import { cutBytes, type WantedBytes } from '../../runtime/byte-window.ts'
import { findTime, locateLine, parseLogTime } from './locate.ts'
import type { LogFile } from './scan/log-file.ts'
import { LogScans, openLogThreads } from './scan/log-scans.ts'

let directory: TemporaryDirectory
let threads: ThreadPool
let scans: LogScans
/** A log of 40 MB, which is searched in parts. Line n is `n …`. Every tenth line has a record head. */
let log: Buffer
let file: LogFile

beforeAll(async () => {
  directory = await makeTemporaryDirectory({ inMemory: true })
  threads = openLogThreads(systemClock, 2)
  scans = new LogScans(threads)
  const startMs = Date.UTC(2026, 10, 1, 23, 50)
  const lines = Array.from({ length: 400_000 }, (_, index) => {
    const line = index + 1
    const at = new Date(startMs + index * 10).toISOString().slice(0, 19).replace('T', ' ')
    return line % 10 === 1
      ? `${at} [shop] INFO: Line ${line} — crawled${' .'.repeat(line % 60)}`
      : `  detail of line ${line}${' x'.repeat(line % 70)}`
  })
  log = Buffer.from(`${lines.join('\n')}\nan unfinished line`)
  const path = join(directory.path, 'shop.log')
  await writeFile(path, log)
  file = { kind: 'plain', path }
})
afterAll(async () => {
  await threads.close()
  await directory.remove()
})

const read = async (range: WantedBytes) => cutBytes(log, range)
const lineAt = (offset: number) => log.toString('latin1', 0, offset).split('\n').length
const index = () => scans.countLines('shop', file, log.length)

async function search(text: string, options: { isRegex?: boolean; mostLines?: number } = {}) {
  const found: FoundLogLine[] = []
  let last
  const query = { text, isRegex: options.isRegex ?? false, matchesCase: true }
  for await (const part of scans.search(file, log.length, query, { mostLines: options.mostLines ?? 10_000 })) {
    found.push(...part.found)
    last = part
  }
  return { found, last }
}

describe('a search of a whole log', () => {
  test('finds every line, with its number and place, and says how many match', async () => {
    const { found, last } = await search('line 39999')
    expect(found.map(({ text }) => text.split(' x')[0])).toEqual(
      [39_999, ...[0, 2, 3, 4, 5, 6, 7, 8, 9].map((digit) => 399_990 + digit)].map((line) => `  detail of line ${line}`)
    )
    for (const { line, offset, text } of found) {
      expect(text).toContain(`line ${line}`)
      expect(lineAt(offset)).toBe(line)
    }
    expect(last).toMatchObject({ state: 'complete', matches: 10, searchedBytes: log.length })
  })

  test('leaves room for other searches: it requests a few parts at a time, however large the log is', async () => {
    let [asked, waiting, most] = [0, 0, 0]
    const run = async () => {
      asked += 1
      most = Math.max(most, (waiting += 1))
      await Promise.resolve()
      waiting -= 1
      return { found: [], matches: 0, newlines: 0 }
    }
    const ofAll = new LogScans({ run } as unknown as ThreadPool)
    const query = { text: 'x', isRegex: false, matchesCase: true }
    const states: string[] = []
    for await (const { state } of ofAll.search(file, 1e9, query, { mostLines: 10 })) states.push(state)
    expect([asked, states.length, states.at(-1)]).toEqual([60, 61, 'complete'])
    expect(most).toBeLessThan(6)
  })

  test('counts the matches that it does not return', async () => {
    const { found, last } = await search('^\\s+detail', { isRegex: true, mostLines: 5 })
    expect(found.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6])
    expect(last).toMatchObject({ matches: 360_000 })
  })

  test('is refused for an invalid expression, and stopped for one that takes too long', async () => {
    await expect(search('(', { isRegex: true })).rejects.toMatchObject({ code: 'BAD_INPUT' })
    const stopping = new AbortController()
    const evil = { text: '(a+a+)+y|(( ?[x.])+)+!', isRegex: true, matchesCase: true }
    const running = scans.search(file, log.length, evil, { mostLines: 1, signal: stopping.signal }).next()
    setTimeout(() => stopping.abort(new Error('enough')), 50)
    await expect(running).rejects.toThrow('enough')
    expect((await search('line 400000')).found).toHaveLength(1)
  })
})

describe('a place in a log', () => {
  test('is found by line and by byte', async () => {
    const lines = await index()
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 400_001 }), async (line) => {
        const place = await locateLine(read, lines, { line })
        expect(place).toMatchObject({ line, lines: 400_001, sizeBytes: log.length })
        if (line <= 400_000) {
          const text = log.toString('utf8', place.offset, place.offset + 60)
          expect(text.toLowerCase()).toContain(`line ${line}`)
          expect(log[place.offset - 1] ?? 10).toBe(10)
          expect(await locateLine(read, lines, { offset: place.offset + 7 })).toEqual(place)
        }
      }),
      { numRuns: 30 }
    )
  })

  test('past the end is the last line', async () => {
    const lines = await index()
    const last = { line: 400_001, offset: log.length - 'an unfinished line'.length }
    expect(await locateLine(read, lines, { line: 9_999_999 })).toMatchObject(last)
    expect(await locateLine(read, lines, { offset: 9_999_999_999 })).toMatchObject(last)
    expect(await locateLine(read, lines, {})).toMatchObject(last)
  })

  test('is found by time, of the first record at that time or later', async () => {
    const at = async (text: string) => {
      const offset = await findTime(read, parseLogTime(text)!)
      return offset === null ? null : log.toString('utf8', offset, offset + 19)
    }
    expect(await at('23:55')).toBe('2026-11-01 23:55:00')
    expect(await at('0:10:30')).toBe('2026-11-02 00:10:30')
    expect(await at('2026-11-02 00:00')).toBe('2026-11-02 00:00:00')
    expect(await at('2026-10-01 00:00')).toBe('2026-11-01 23:50:00')
    expect(await findTime(read, parseLogTime('2027-01-01 00:00')!)).toBe(log.length)
  })

  test('is not found by time if no record has one', async () => {
    const text = Buffer.from('printed\ntext\n')
    expect(await findTime(async (range) => cutBytes(text, range), parseLogTime('1:00')!)).toBeNull()
    expect(parseLogTime('tea time')).toBeNull()
  })

  test('is also found by time in a log with impossible dates', async () => {
    const odd = Buffer.from('2026-99-99 12:00:00 [shop] INFO: a\n2026-99-99 13:00:00 [shop] INFO: b\n')
    const readOdd = async (range: WantedBytes) => cutBytes(odd, range)
    expect(await findTime(readOdd, parseLogTime('12:30')!)).toBe(35)
    expect(await findTime(readOdd, parseLogTime('11:00')!)).toBe(0)
  })

  test('is found in a log that has grown without counting all lines again', async () => {
    const path = join(directory.path, 'growing.log')
    const growing: LogFile = { kind: 'plain', path }
    const grown = Buffer.concat([log, log])
    await writeFile(path, log)
    await scans.countLines('growing', growing, log.length)
    await writeFile(path, grown)
    const lines = await scans.countLines('growing', growing, grown.length)
    expect(lines.before.at(-1)).toBe(800_000)
    const place = await locateLine(async (range) => cutBytes(grown, range), lines, { line: 400_001 })
    expect(grown.toString('utf8', place.offset, place.offset + 40)).toContain('an unfinished line2026-11-01')
  })
})
