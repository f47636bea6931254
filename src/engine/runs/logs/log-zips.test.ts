import { expect, test } from 'vitest'
import type { JobId, Transition } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { aJob } from '../../../shared/testing/builders.ts'
import { aJobId, anAttemptNumber, aProjectName } from '../../../shared/testing/ids.ts'
import type { StoredJob } from '../../model/records.ts'
import { readArchive } from '../../testing/archives.ts'
import { LogZips, ZIP_INDEX } from './log-zips.ts'

const MIB = 1024 * 1024
const idOf = (digit: string) => aJobId(digit.repeat(32))

/** Jobs of `shop` with the result of reading each log. `reads` counts the requests. */
function aFleet(
  logs: Record<string, Buffer | Error | ((offset: number, attempt: number) => Buffer | Error)>,
  over: Partial<StoredJob> = {},
  timeline: Transition[] = []
) {
  const ids = Object.keys(logs).map(idOf)
  const jobs = ids.map((id) => aJob({ id, jobid: id, project: aProjectName('shop'), spider: 'prices', ...over }))
  const reads = { count: 0, signals: new Set<AbortSignal>() }
  const newest = { attempt: anAttemptNumber(1) }
  const time = { nowMs: 0 }
  const zips = new LogZips({
    store: {
      getJobs: async (wanted) => jobs.filter(({ id }) => wanted.includes(id)),
      listTimeline: async () => timeline
    },
    jobLogs: {
      async readBytes(id, number = newest.attempt, { offset, limitBytes }, signal) {
        reads.count += 1
        reads.signals.add(signal!)
        const log = logs[id[0]!]!
        const found = typeof log === 'function' ? log(offset, number) : log
        if (found instanceof Error) throw found
        const bytes = found.subarray(offset, offset + limitBytes)
        return { offset, sizeBytes: found.length, bytes, mayGrow: false, attempt: { number } }
      }
    },
    clock: { monotonicMs: () => time.nowMs }
  })
  return { zips, ids, reads, newest, time }
}

async function unzip(zips: LogZips, ids: JobId[]) {
  const pieces: Buffer[] = []
  for await (const { base64 } of zips.zip(ids)) pieces.push(Buffer.from(base64, 'base64'))
  const files = await readArchive(Buffer.concat(pieces))
  return { files, index: files.get(ZIP_INDEX)!.toString().trimEnd().split('\n').slice(1) }
}

/** Incompressible data, so that a slow client delays the zip. */
function noiseOf(bytes: number): Buffer {
  const noise = Buffer.alloc(bytes)
  for (let at = 0, seed = 1; at < noise.length; at += 4)
    noise.writeUInt32LE((seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0), at)
  return noise
}

test('many logs form one archive, byte for byte, below their project and spider', async () => {
  const large = Buffer.alloc(3 * MIB, 'a line of a log\n')
  const { zips, ids } = aFleet({ a: Buffer.from('h\xe9llo\n', 'latin1'), b: large })
  const { files, index } = await unzip(zips, [...ids, ids[0]!])
  expect([...files.keys()]).toEqual([`shop/prices/${ids[0]}.log`, `shop/prices/${ids[1]}.log`, ZIP_INDEX])
  expect(files.get(`shop/prices/${ids[0]}.log`)).toEqual(Buffer.from('h\xe9llo\n', 'latin1'))
  expect(files.get(`shop/prices/${ids[1]}.log`)!.equals(large)).toBe(true)
  expect(index).toEqual(ids.map((id) => `${id}\tshop/prices/${id}.log\tcomplete`))
})

test('logs that are gone or cut off are listed in the index and break nothing', async () => {
  const { zips, ids } = aFleet({
    a: new ScrapdeckError('LOG_NOT_FOUND', 'Retention deleted the log on 2026-11-02'),
    b: (offset) => (offset === 0 ? Buffer.alloc(2 * MIB, 'x') : new Error('the node does not respond')),
    c: Buffer.from('whole\n')
  })
  const { files, index } = await unzip(zips, [...ids, idOf('f')])
  expect(index).toEqual([
    `${ids[0]}\tshop/prices/${ids[0]}.log\tmissing: Retention deleted the log on 2026-11-02`,
    `${ids[1]}\tshop/prices/${ids[1]}.log\tcut off after ${MIB} of ${2 * MIB} bytes: the node does not respond`,
    `${ids[2]}\tshop/prices/${ids[2]}.log\tcomplete`,
    `${idOf('f')}\t-\tmissing: there is no such job`
  ])
  expect([...files].map(([name, bytes]) => [name.slice(-6), bytes.length]).slice(0, 2)).toEqual([
    [`${'b'.repeat(2)}.log`, MIB],
    [`${'c'.repeat(2)}.log`, 6]
  ])
})

test('a log that its node had deleted in part, or whose run was lost, is not called complete', async () => {
  const lost = aFleet({ a: Buffer.from('begun\n') }, { outcome: 'lost' })
  expect((await unzip(lost.zips, lost.ids)).index[0]).toMatch(/\tit may be cut: the run was lost$/)
  const entry = { attemptNumber: 1, kind: 'ended', evidence: { logKeptBytes: 6 } } as unknown as Transition
  const pruned = aFleet({ a: Buffer.from('begun\n') }, { attemptCount: 1 }, [entry])
  expect((await unzip(pruned.zips, pruned.ids)).index[0]).toMatch(/\tas far as it was copied from its node$/)
})

test('an archived log belongs to one attempt, even if its job is tried again meanwhile', async () => {
  const { zips, ids, newest } = aFleet({
    a: (offset, attempt) => {
      if (offset > 0) newest.attempt = anAttemptNumber(2)
      return Buffer.alloc(3 * MIB, String(attempt))
    }
  })
  const { files, index } = await unzip(zips, ids)
  expect(files.get(`shop/prices/${ids[0]}.log`)!.equals(Buffer.alloc(3 * MIB, '1'))).toBe(true)
  expect(index[0]).toMatch(/\tcomplete$/)
})

test('names that a file system refuses are replaced, and the second of two jobs with one jobid gets its id', async () => {
  const { zips, ids } = aFleet({ a: Buffer.from('1'), b: Buffer.from('2') }, { jobid: 'nightly', spider: '../x y' })
  const { files } = await unzip(zips, ids)
  expect([...files.keys()]).toEqual(['shop/___x_y/nightly.log', `shop/___x_y/${ids[1]}.log`, ZIP_INDEX])
})

test('nothing is prefetched for a download, and nothing is read after the client has left', async () => {
  const { zips, ids, reads } = aFleet({ a: noiseOf(16 * MIB) })
  const pieces = zips.zip(ids)
  await pieces.next()
  await new Promise((resolve) => setImmediate(resolve))
  expect(reads.count).toBeLessThan(8)
  const before = reads.count
  await pieces.return()
  await new Promise((resolve) => setImmediate(resolve))
  expect(reads.count - before).toBeLessThan(2)
})

test('only a few archives are made at a time; one that is not read makes room for the next', async () => {
  const { zips, ids, reads, time } = aFleet({ a: noiseOf(4 * MIB) })
  const open = Array.from({ length: 4 }, () => zips.zip(ids))
  for (const one of open) await one.next()
  await expect(zips.zip(ids).next()).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' })
  time.nowMs = 59_000
  for (const one of open.slice(1)) await one.next()
  time.nowMs = 60_000
  expect((await unzip(zips, ids)).index).toHaveLength(1)
  // The client may never read again, so the time limit ends the zip.
  const [first, second] = [...reads.signals]
  expect([first!.aborted, second!.aborted]).toEqual([true, false])
  await expect(open[0]!.next()).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' })
  for (const one of open.slice(1)) await one.return()
})
