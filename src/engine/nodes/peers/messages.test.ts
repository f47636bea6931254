import { expect, test } from 'vitest'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { wallLimitHit } from '../../../shared/texts/limit-hits.ts'
import { decode, type Message, plain, say } from '../../../shared/texts/message.ts'
import { NodeError } from '../node-client.ts'
import {
  failureOf,
  fromSentJob,
  fromSentNotReady,
  HOSTED_OPERATIONS,
  HostedFailure,
  saidInFailure,
  toSentJob,
  toSentNotReady
} from './messages.ts'

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

const { notReady: NotReady } = HOSTED_OPERATIONS.status.output.shape
const why = say('not_ready.building', { project: 'shop', progress: 'Collecting lxml' })
const notReady = { others: say('not_ready.no_scrapy'), projects: new Map([['shop', why]]) }

test('why a node is not ready keeps its code, and an older engine reads the text', () => {
  const sentAs = NotReady.parse(toSentNotReady(notReady))
  expect(fromSentNotReady(sentAs)).toEqual(notReady)
  expect(sentAs).toMatchObject({
    others: 'has no Python with Scrapy yet',
    projects: [['shop', 'is building the Python environment of shop (Collecting lxml)']]
  })
})

test('why a node of an older engine is not ready is a text', () => {
  const sentAs = NotReady.parse({ others: null, projects: [['shop', 'is building it']] })
  expect(fromSentNotReady(sentAs)).toEqual({ others: null, projects: new Map([['shop', plain('is building it')]]) })
})

test('a failure keeps its codes, and the texts of an older engine are read as they are', () => {
  const problem = say('run_problem.version', { name: '""' })
  const said = say('node_error.local_rejected', { why: problem })
  const error = new NodeError('refused', said, { delivered: 'no', nodeMessage: problem })
  const { failure } = HostedFailure.parse({ failure: failureOf(error) })
  expect(saidInFailure(failure)).toEqual({ said, nodeSaid: problem })
  const { said: _said, nodeSaid: _nodeSaid, ...older } = failure
  expect(saidInFailure(older)).toEqual({
    said: plain('The local node rejected the request: "" is not a valid version name.'),
    nodeSaid: '"" is not a valid version name.'
  })
})
