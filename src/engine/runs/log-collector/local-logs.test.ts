import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Attempt } from '../../../shared/contract/index.ts'
import { aJobId, anAttemptNumber } from '../../../shared/testing/ids.ts'
import { packSmallLog, unpackSmallLog } from '../logs/archive/small-log.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { ArchivedLog } from '../../model/records.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { sweepLocalLogs } from './local-logs.ts'

async function world(options: { deletesFiles: boolean }) {
  const temporary = await makeTemporaryDirectory({ inMemory: true })
  onTestFinished(temporary.remove)
  const clock = createFakeClock()
  const folder = join(temporary.path, 'shop', 'prices')
  await mkdir(folder, { recursive: true })
  const attempts: Partial<Attempt>[] = []
  const kept = new Map<string, ArchivedLog>()
  const sealed: number[] = []
  const logs = sweepLocalLogs({
    store: {
      findAttemptsOnNode: async (_node, [run]) =>
        attempts.filter(({ jobid, project }) => jobid === run!.jobid && project === run!.project) as Attempt[],
      markLogArchived: async (jobId, _number, log) => {
        kept.set(jobId, log)
        for (const attempt of attempts) if (attempt.jobId === jobId) attempt.logArchived = true
      }
    },
    archive: {
      pack: (_jobId, _number, log) => packSmallLog(log),
      seal: async (_jobId, _number, source) => {
        const rawBytes = source.kind === 'plain' ? source.sizeBytes : 0
        sealed.push(rawBytes)
        return { rawBytes, packedBytes: 10, newlines: 1 }
      }
    },
    directory: temporary.path,
    deletesFiles: options.deletesFiles,
    clock,
    logger: silentLogger
  })
  async function write(jobid: string, text: string, state: Attempt['state'], minutesAgo: number): Promise<void> {
    const run = {
      jobid,
      project: 'shop' as Attempt['project'],
      spider: 'prices',
      state,
      logArchived: false,
      logDeletedAtMs: null
    }
    attempts.push({ ...run, jobId: aJobId(jobid), number: anAttemptNumber(1) })
    const path = join(folder, `${jobid}.log`)
    await writeFile(path, text)
    const at = new Date(clock.nowMs() - minutesAgo * 60_000)
    await utimes(path, at, at)
  }
  const sweep = async () => {
    let archived: number | null = null
    void logs.run().then((count) => (archived = count))
    // File operations take real time. The pauses between them use the fake clock.
    await vi.waitFor(async () => {
      await clock.advanceBy(20)
      expect(archived).not.toBeNull()
    })
    return archived
  }
  return { write, sweep, kept, sealed, attempts, files: async () => (await readdir(folder)).sort() }
}

test('logs of runs that ended a while ago move into the archive; all others stay', async () => {
  const { write, sweep, kept, sealed, files } = await world({ deletesFiles: true })
  await write('small', 'Spider closed (finished)\n', 'ended', 20)
  await write('large', 'x'.repeat(100_000), 'ended', 20)
  await write('fresh', 'just ended\n', 'ended', 5)
  await write('running', 'quiet for long\n', 'running', 60)
  expect(await sweep()).toBe(2)
  expect(await files()).toEqual(['fresh.log', 'running.log'])
  expect(unpackSmallLog(kept.get('small')!.packed!).toString()).toBe('Spider closed (finished)\n')
  expect([kept.get('large')!.sizes, sealed]).toEqual([{ rawBytes: 100_000, storedBytes: 10 }, [100_000]])
})

test('logs in a directory that is not ours alone are archived, and also stay there', async () => {
  const { write, sweep, kept, files } = await world({ deletesFiles: false })
  await write('small', 'text\n', 'ended', 20)
  expect([await sweep(), await sweep()]).toEqual([1, 0])
  expect([await files(), kept.size]).toEqual([['small.log'], 1])
})

test('a log that retention deleted does not come back from a directory that is not ours alone', async () => {
  const { write, sweep, kept, attempts } = await world({ deletesFiles: false })
  await write('old', 'text\n', 'ended', 20)
  attempts[0]!.logDeletedAtMs = 1
  expect([await sweep(), kept.size]).toEqual([0, 0])
})
