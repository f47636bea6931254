import { createReadStream, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGzip } from 'node:zlib'
import { openFilesystemBlobStore } from '../src/engine/storage/blobs/filesystem/filesystem-blob-store.ts'
import { LogCache } from '../src/engine/runs/logs/archive/log-cache.ts'
import { LogArchive } from '../src/engine/runs/logs/archive/log-archive.ts'
import { openLogThreads } from '../src/engine/runs/logs/scan/log-scans.ts'
import { systemClock } from '../src/engine/runtime/clock.ts'
import { systemRandom } from '../src/engine/runtime/random.ts'
import { AttemptNumber, JobId } from '../src/shared/contract/index.ts'
import { compare, type Figure, type Goal } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { logLines } from './support/log-lines.ts'
import { median, progress } from './support/sides.ts'

export const about =
  'The archive of logs: how small, how fast it is written, and how fast a range is read from its middle'

/** Archives a log of 1 GB with LogArchive.seal, in a thread, and packs the same file with gzip -6. */
export const run = () => measure({ megabytes: 1_000, rounds: 3 })

export async function measure({ megabytes, rounds }: { megabytes: number; rounds: number }): Promise<Figure[]> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-archive-'))
  const threads = openLogThreads(systemClock, 1)
  try {
    const path = join(directory, 'run.log')
    for (let made = 0; made * 10 < megabytes; made += 1) {
      writeFileSync(path, logLines({ bytes: 10_000_000, seed: made + 1 }), { flag: 'a' })
    }
    const sizeBytes = statSync(path).size
    const archive = new LogArchive({
      blobs: await openFilesystemBlobStore(join(directory, 'blobs')),
      threads,
      random: systemRandom,
      cache: LogCache.open(join(directory, 'cache')),
      directory
    })
    const [jobId, number] = [JobId.parse('0'.repeat(32)), AttemptNumber.parse(1)]
    const writes: number[] = []
    let packedBytes = 0
    for (let round = 0; round < rounds; round += 1) {
      const beganAtMs = performance.now()
      packedBytes = (await archive.seal(jobId, number, { kind: 'plain', path, sizeBytes })).packedBytes
      writes.push(performance.now() - beganAtMs)
      progress(`archive ${round + 1}/${rounds}: ${Math.round(sizeBytes / 1_000 / writes.at(-1)!)} MB/s`)
    }
    const log = { packed: null, sizes: { rawBytes: sizeBytes, storedBytes: packedBytes } }
    const reads: number[] = []
    for (let round = 0; round < rounds * 20; round += 1) {
      const offset = Math.floor(sizeBytes / 2) + round * 12_345
      const beganAtMs = performance.now()
      await archive.read(jobId, number, log, { offset, limitBytes: 1_000_000 })
      reads.push(performance.now() - beganAtMs)
    }
    const gzipBytes = await gzippedBytes(path)
    const conditions = { log_bytes: sizeBytes, rounds, ...machine() }
    const figure = (name: string, value: number, unit: string, goal: Goal): Figure => ({
      figure: name,
      value,
      unit,
      conditions,
      goal
    })
    const size = { ours: packedBytes, bound: gzipBytes, unit: 'bytes', boundIs: 'gzip -6', wanted: { atMost: 1.1 } }
    return [
      ...compare('size', size, conditions),
      figure('write_mb_per_s', Math.round(sizeBytes / 1_000 / median(writes)), 'MB/s', { atLeast: 250 }),
      figure('range_ms', Number(median(reads).toFixed(1)), 'ms', { atMost: 20 })
    ]
  } finally {
    await threads.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function gzippedBytes(path: string): Promise<number> {
  let bytes = 0
  for await (const piece of createReadStream(path).pipe(createGzip({ level: 6 }))) bytes += (piece as Buffer).length
  return bytes
}
