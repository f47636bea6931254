import { expect, test } from 'vitest'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { wallLimitHit } from '../../../shared/texts/limit-hits.ts'
import { decode, type Message, plain } from '../../../shared/texts/message.ts'
import { fromSentJob, HOSTED_OPERATIONS, toSentJob } from './messages.ts'

const sent = (limit: Message) => {
  const job = {
    project: aProjectName('shop'),
    spider: 'price',
    jobid: 'a',
    pid: null,
    startTime: null,
    endTime: null,
    exit: { code: 0, signal: null, limit, peakMemoryBytes: null, cpuSeconds: null }
  }
  const list = HOSTED_OPERATIONS.jobs.output.parse({ pending: [], running: [], finished: [toSentJob(job)] })
  return fromSentJob(list.finished[0]!).exit?.limit
}

test('the limit that ended a run keeps its code and parameters', () => {
  expect(sent(wallLimitHit(120, 121_000))).toEqual(wallLimitHit(120, 121_000))
})

test('a limit that a spider wrote into its run directory never makes the list of jobs unreadable', () => {
  const long = `["a",${'\u0001'.repeat(490)}`
  expect(sent(decode(long))).toEqual(plain(long))
  const many = `["reason.unexpected_end",{"finishReasons":${JSON.stringify(Array(110).fill('a'))}}]`
  expect(sent(decode(many))?.code).toBeDefined()
})

test('a limit whose code a later version knows keeps its text', () => {
  const job = toSentJob({
    project: aProjectName('shop'),
    spider: 'price',
    jobid: 'a',
    pid: null,
    startTime: null,
    endTime: null,
    exit: { code: 0, signal: null, limit: wallLimitHit(120, 121_000), peakMemoryBytes: null, cpuSeconds: null }
  })
  const later = { ...job, exit: { ...job.exit!, limit: 'disk limit of 5 GB', limitMessage: '["limit_hit.disk",{}]' } }
  expect(fromSentJob(later).exit?.limit).toEqual(plain('disk limit of 5 GB'))
})
