import { expect, test } from 'vitest'
import type { JobId } from '../../src/shared/contract/index.ts'
import type { Run } from '../chaos/truth.ts'
import { judgeRuns, mostAtOnce, type ToldJob } from './judge-runs.ts'

const asked = [1, 2].map((number) => ({ number, id: `j${number}` }))
const toldJob = (number: number, change: Partial<ToldJob> = {}): ToldJob => ({
  number,
  id: `j${number}` as JobId,
  status: 'succeeded',
  mayHaveRunTwice: false,
  ...change
})
const run = (jobid: string, change: Partial<Run> = {}): Run => ({
  number: 1,
  jobid,
  node: 'n1',
  pid: 7,
  beganAtMs: 0,
  endedAtMs: 100,
  ...change
})
const told = [toldJob(1), toldJob(2)]
const runs = [run('j1'), run('j2-2', { node: 'n2' })]

test('accepts one job for each order and one run for each job, even if the run is a later attempt', () => {
  expect(judgeRuns(asked, told, runs)).toEqual([])
})

test('complains about each kind of error', () => {
  const twice = judgeRuns(asked, told, [...runs, run('j1-2', { node: 'n3' })])
  expect(twice).toEqual(['job j1 (order 1) ran 2 times: j1 on n1, j1-2 on n3'])
  expect(judgeRuns(asked, told, [run('j1')])).toEqual(['job j2 (order 2) ran 0 times'])
  expect(judgeRuns(asked, told, [run('j1', { endedAtMs: null }), run('j2')])).toEqual([
    'job j1 (order 1) began and came to no end'
  ])
  expect(judgeRuns(asked, told, [...runs, run('j3')])).toEqual(['n1 ran j3, which is no job'])
  expect(judgeRuns(asked, [toldJob(1, { status: 'lost' }), toldJob(2)], runs)).toEqual([
    'job j1 (order 1) is told as lost'
  ])
  expect(judgeRuns(asked, [toldJob(1, { mayHaveRunTwice: true }), toldJob(2)], runs)).toEqual([
    'job j1 (order 1) is told as perhaps run twice'
  ])
  const second = toldJob(1, { id: 'j9' as JobId })
  expect(judgeRuns(asked, [...told, second], [...runs, run('j9')])).toEqual(['order 1 has 2 jobs'])
  expect(judgeRuns(asked, [second, toldJob(2)], [run('j9'), run('j2')])).toEqual([
    'order 1 was answered with j1, and its job is j9'
  ])
})

test('runs that follow each other closely do not count as simultaneous; a run without an end is still running', () => {
  const following = [run('a'), run('b', { beganAtMs: 100, endedAtMs: 200 })]
  expect(mostAtOnce(following).get('n1')).toBe(1)
  expect(mostAtOnce([run('a', { endedAtMs: null }), run('b', { beganAtMs: 100, endedAtMs: 200 })]).get('n1')).toBe(2)
})
