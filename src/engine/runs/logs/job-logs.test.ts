import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aNodeId, anAttemptNumber, aProjectName } from '../../../shared/testing/ids.ts'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Attempt, JobId, LogChunk } from '../../../shared/contract/index.ts'
import { aJob } from '../../../shared/testing/builders.ts'
import type { StoredJob } from '../../model/records.ts'
import type { AttemptReader, JobReader } from '../../storage/store.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { FakeNode } from '../../testing/fake-node.ts'
import { createMemoryArchive } from '../../testing/memory-archive.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import type { LogArchivePort } from './archive/log-archive.ts'
import type { HeadFormat } from '../../../shared/log-record.ts'
import type { LogScans } from './scan/log-scans.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import { JobLogs } from './job-logs.ts'

const ID = aJob().id

function aWorld() {
  const clock = createFakeClock()
  const node = new FakeNode(clock, { slots: 1 })
  const attempts: Attempt[] = []
  const job: StoredJob = aJob({ id: ID, status: 'running' })
  const store = { getJob: async () => job, listAttempts: async () => attempts } as unknown as JobReader & AttemptReader
  const fleet = { get: () => ({ client: node }) } as unknown as Fleet
  const formats = new Map<number, HeadFormat>()
  const formatOf = async ({ number }: Attempt) => formats.get(number) ?? null
  const archive = createMemoryArchive({} as never)
  const logs = new JobLogs({ store, archive, scans: {} as LogScans, fleet, clock, formatOf })
  const begin = (number: number, text: string | null) => {
    const jobid = `run-${number}`
    attempts.push({
      jobId: ID,
      number,
      jobid,
      nodeId: 'n1',
      state: 'running',
      logArchived: false,
      logDeletedAtMs: null
    } as Attempt)
    if (text !== null) node.logs.set(jobid, text)
  }
  const end = (number: number) => {
    attempts[number - 1]!.state = 'ended'
  }
  const follow = (attempt?: number) => {
    const aborting = new AbortController()
    onTestFinished(() => aborting.abort())
    const chunks: LogChunk[] = []
    const told = {
      chunks,
      text: () => chunks.map(({ text }) => text).join(''),
      isComplete: () => chunks.at(-1)?.complete
    }
    const attemptNumber = attempt === undefined ? undefined : anAttemptNumber(attempt)
    const options = { attemptNumber, offset: undefined, tailBytes: 1000, signal: aborting.signal }
    const ended = (async () => {
      for await (const chunk of logs.tail(ID as JobId, options)) chunks.push(chunk)
    })()
    return { ...told, ended }
  }
  const deletedByRetention = (number: number) => {
    attempts[number - 1]!.logDeletedAtMs = Date.UTC(2026, 10, 2)
  }
  return { clock, node, fleet, archive, logs, formats, begin, end, follow, deletedByRetention }
}

test('each chunk of a log has the format of its records, once that is known', async () => {
  const { clock, node, logs, formats, begin, follow } = aWorld()
  begin(1, 'first\n')
  const { chunks } = follow(1)
  await clock.advanceBy(1000)
  formats.set(1, { kind: 'json' })
  node.logs.set('run-1', 'first\nsecond\n')
  await clock.advanceBy(1000)
  expect(chunks.map(({ text, format }) => [text, format])).toEqual([
    ['first\n', undefined],
    ['second\n', { kind: 'json' }]
  ])
  expect(await logs.readChunk(ID, undefined, { offset: 0, limitBytes: 5 })).toMatchObject({ format: { kind: 'json' } })
})

test('the log of a run is complete when that run has ended, even if its job is tried again', async () => {
  const { clock, logs, begin, end, follow } = aWorld()
  begin(1, 'first\n')
  const first = follow(1)
  await clock.advanceBy(1000)
  end(1)
  begin(2, 'second\n')
  await clock.advanceBy(10_000)
  expect([first.text(), first.isComplete()]).toEqual(['first\n', true])
  expect(await logs.readChunk(ID, anAttemptNumber(1), { offset: 0, limitBytes: 100 })).toMatchObject({ complete: true })
  expect(await logs.readChunk(ID, anAttemptNumber(2), { offset: 0, limitBytes: 100 })).toMatchObject({
    complete: false
  })
})

test('a log without an attempt number is that of one run to its end: the next run has another one', async () => {
  const { clock, node, begin, end, follow } = aWorld()
  const log = follow()
  begin(1, null)
  await clock.advanceBy(5000)
  end(1)
  begin(2, 'second\n')
  await clock.advanceBy(10_000)
  expect([log.text(), log.isComplete()]).toEqual(['second\n', false])
  begin(3, 'a third, longer than the second\n')
  await clock.advanceBy(10_000)
  node.logs.set('run-2', 'second\nend\n')
  end(2)
  await clock.advanceBy(10_000)
  expect([log.text(), log.isComplete()]).toEqual(['second\nend\n', true])
})

test('a run that never existed is refused at once', async () => {
  const { begin, follow } = aWorld()
  begin(1, 'first\n')
  await expect(follow(7).ended).rejects.toMatchObject({ code: 'LOG_NOT_FOUND' })
})

test('an offset from the end is limited to the size of a chunk', async () => {
  const { node, logs, begin } = aWorld()
  begin(1, 'short\n')
  const asked = vi.spyOn(node, 'readLog')
  const chunk = await logs.readChunk(ID, anAttemptNumber(1), { offset: -4_000_000_000, limitBytes: 100 })
  expect(chunk).toMatchObject({ offset: 0, text: 'short\n' })
  expect(asked.mock.calls[0]![1]).toMatchObject({ offset: -4_194_304 })
})

test('the part of an unarchived log on this machine can be searched: its file, or its copy', async () => {
  await using directory = await makeTemporaryDirectory({ inMemory: true })
  const path = join(directory.path, 'run-1.log')
  const copy = { file: { kind: 'plain' as const, path: 'copied' }, sizeBytes: 7 }
  const archive = { copies: { knownFileOf: async () => copy } } as unknown as LogArchivePort
  const clients = new Map<string, object>([
    ['local', { logPath: ({ jobid }: { jobid: string }) => join(directory.path, `${jobid}.log`) }],
    ['remote', {}]
  ])
  const fleet = { get: (id: string) => ({ client: clients.get(id) }) } as unknown as Fleet
  const parts = {
    store: {} as JobReader & AttemptReader,
    scans: {} as LogScans,
    archive,
    fleet,
    clock: createFakeClock(),
    formatOf: async () => null
  }
  const logs = new JobLogs(parts)
  const run = { jobId: ID, number: anAttemptNumber(1), jobid: 'run-1', project: aProjectName('shop'), spider: 'prices' }
  expect(await logs.fileHere({ ...run, nodeId: aNodeId('local') })).toBeNull()
  await writeFile(path, 'line\n')
  expect(await logs.fileHere({ ...run, nodeId: aNodeId('local') })).toEqual({
    file: { kind: 'plain', path },
    sizeBytes: 5
  })
  expect(await logs.fileHere({ ...run, nodeId: aNodeId('remote') })).toBe(copy)
})

test('the copied part of a log is read if its node no longer has it, does not respond, or is gone', async () => {
  const { node, fleet, archive, logs, begin, end } = aWorld()
  begin(1, 'first\n')
  const read = async (range: { offset: number; limitBytes: number }) => node.readLog({ jobid: 'run-1' }, range)
  await archive.copies.advance(ID as JobId, anAttemptNumber(1), read)
  node.logs.set('run-1', 'first\nsecond\n')
  const text = async (offset = 0) => (await logs.readChunk(ID as JobId, undefined, { offset, limitBytes: 100 })).text
  expect(await text()).toBe('first\nsecond\n')
  node.isDown = true
  expect(await text()).toBe('first\n')
  // A reader that is further ahead must not conclude that the log became shorter.
  await expect(text(13)).rejects.toMatchObject({ code: 'NODE_UNREACHABLE' })
  node.isDown = false
  node.logs.delete('run-1')
  end(1)
  expect(await text()).toBe('first\n')
  fleet.get = () => undefined
  expect(await text()).toBe('first\n')
})

test('a log that retention deleted says so and when, even if its node still has it', async () => {
  const { node, logs, begin, end, follow, deletedByRetention } = aWorld()
  begin(1, 'first\n')
  end(1)
  deletedByRetention(1)
  const asked = vi.spyOn(node, 'readLog')
  const says = { code: 'LOG_NOT_FOUND', message: `Retention deleted the log of job ${ID} on 2026-11-02` }
  await expect(logs.readChunk(ID, undefined, { offset: 0, limitBytes: 100 })).rejects.toMatchObject(says)
  await expect(follow(1).ended).rejects.toMatchObject(says)
  expect(await logs.read(ID, { offset: 0, limitBytes: 100 })).toBeNull()
  expect(asked).not.toHaveBeenCalled()
})

test('the output of a run is read from the node that keeps it, unless retention deleted its log', async () => {
  const { node, logs, begin, end, deletedByRetention } = aWorld()
  begin(1, 'first\n')
  end(1)
  const read = (offset: number) => logs.readChunk(ID, undefined, { offset, limitBytes: 3 }, undefined, 'readPrinted')
  await expect(read(0)).rejects.toMatchObject({ code: 'LOG_NOT_FOUND' })
  const printed = Buffer.from('tulip')
  const readPrinted = vi.fn(async (_run: unknown, { offset, limitBytes }: { offset: number; limitBytes: number }) => ({
    offset,
    sizeBytes: 5,
    bytes: printed.subarray(offset, offset + limitBytes)
  }))
  Object.assign(node, { readPrinted })
  expect(await read(0)).toMatchObject({ offset: 0, nextOffset: 3, sizeBytes: 5, text: 'tul', complete: false })
  expect(await read(3)).toMatchObject({ text: 'ip', complete: true })
  deletedByRetention(1)
  await expect(read(0)).rejects.toMatchObject({ message: expect.stringContaining('Retention deleted the log') })
  expect(readPrinted).toHaveBeenCalledTimes(2)
})
