import { anAttemptNumber } from '../../shared/testing/ids.ts'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Attempt, JobId, LogChunk } from '../../shared/contract/index.ts'
import { aJob } from '../../shared/testing/builders.ts'
import type { StoredJob } from '../store/records.ts'
import type { AttemptReader, JobReader } from '../store/store.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { FakeNode } from '../testing/fake-node.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import type { LogScans } from '../logs/scan/log-scans.ts'
import type { Fleet } from './fleet.ts'
import { JobLogs } from './job-logs.ts'

const ID = aJob().id

/** A job with the attempts that a test gives it, each on the one node there is. */
function aWorld() {
  const clock = createFakeClock()
  const node = new FakeNode(clock, { slots: 1 })
  const attempts: Attempt[] = []
  const job: StoredJob = aJob({ id: ID, status: 'running' })
  const store = { getJob: async () => job, listAttempts: async () => attempts } as unknown as JobReader & AttemptReader
  const fleet = { get: () => ({ client: node }) } as unknown as Fleet
  const logs = new JobLogs({ store, archive: {} as LogArchivePort, scans: {} as LogScans, fleet, clock })
  const begin = (number: number, text: string | null) => {
    const jobid = `run-${number}`
    attempts.push({ jobId: ID, number, jobid, nodeId: 'n1', state: 'running', logArchived: false } as Attempt)
    if (text !== null) node.logs.set(jobid, text)
  }
  const end = (number: number) => {
    attempts[number - 1]!.state = 'ended'
  }
  const follow = (attempt?: number) => {
    const aborting = new AbortController()
    onTestFinished(() => aborting.abort())
    const chunks: LogChunk[] = []
    const told = { text: () => chunks.map(({ text }) => text).join(''), isComplete: () => chunks.at(-1)?.complete }
    const attemptNumber = attempt === undefined ? undefined : anAttemptNumber(attempt)
    const options = { attemptNumber, offset: undefined, tailBytes: 1000, signal: aborting.signal }
    const ended = (async () => {
      for await (const chunk of logs.tail(ID as JobId, options)) chunks.push(chunk)
    })()
    return { ...told, ended }
  }
  return { clock, node, logs, begin, end, follow }
}

test('the log of a run is complete when that run has ended, though its job is tried again', async () => {
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

test('a log without a number is that of one run to its end: the next run writes another', async () => {
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

test('a run that never was is refused at once', async () => {
  const { begin, follow } = aWorld()
  begin(1, 'first\n')
  await expect(follow(7).ended).rejects.toMatchObject({ code: 'LOG_NOT_FOUND' })
})

test('an offset from the end is bounded: further away than one chunk may be long, it begins there', async () => {
  const { node, logs, begin } = aWorld()
  begin(1, 'short\n')
  const asked = vi.spyOn(node, 'readLog')
  const chunk = await logs.readChunk(ID, anAttemptNumber(1), { offset: -4_000_000_000, limitBytes: 100 })
  expect(chunk).toMatchObject({ offset: 0, text: 'short\n' })
  expect(asked.mock.calls[0]![1]).toMatchObject({ offset: -4_194_304 })
})
