import { expect, test } from 'vitest'
import { SeenJobs } from './answers.ts'

const listed = (id: string, more = {}) => ({ id, project: 'shop', spider: 's', pid: 7, start_time: 't', ...more })
const lists = (more: Record<string, ReturnType<typeof listed>[]>) => ({
  pending: [],
  running: [],
  finished: [],
  ...more
})

test('a job listed as before stays the same object, in the order of the list and of every list', () => {
  const seen = new SeenJobs()
  const before = seen.see(lists({ running: [listed('a'), listed('b')] }))
  const after = seen.see(lists({ running: [listed('b'), listed('c')], finished: [listed('a')] }))
  expect(after.running.map(({ jobid }) => jobid)).toEqual(['b', 'c'])
  expect(after.running[0]).toBe(before.running[1])
  expect(after.finished[0]).toBe(before.running[0])
})

test.each([
  ['project', { project: 'news' }],
  ['spider', { spider: 'other' }],
  ['pid', { pid: 8 }],
  ['start', { start_time: 'later' }],
  ['end', { end_time: 'later' }]
])('a job with another %s is another one, and the earlier one is not changed', (_what, more) => {
  const seen = new SeenJobs()
  const [before] = seen.see(lists({ running: [listed('a')] })).running
  const [after] = seen.see(lists({ running: [listed('a', more)] })).running
  expect(after).not.toEqual(before)
  expect(before).toMatchObject({ project: 'shop', spider: 's', pid: 7, startTime: 't', endTime: null })
})

test('fields that a node leaves out are null', () => {
  const [job] = new SeenJobs().see({ running: [{ id: 'a', project: 'shop', spider: 's' }] }).running
  expect(job).toEqual({
    project: 'shop',
    spider: 's',
    jobid: 'a',
    pid: null,
    startTime: null,
    endTime: null,
    exit: null
  })
})

test('jobs that are no longer listed are forgotten eventually', () => {
  const seen = new SeenJobs()
  const [first] = seen.see(lists({ finished: [listed('first')] })).finished
  for (let index = 0; index < 200; index += 1) seen.see(lists({ finished: [listed(`job-${index}`)] }))
  const [again] = seen.see(lists({ finished: [listed('first')] })).finished
  expect(again).not.toBe(first)
  expect(again).toEqual(first)
})

test('invisible characters in a time are escaped', () => {
  const [job] = new SeenJobs().see({ running: [listed('a', { start_time: '2026\u202e-11' })] }).running
  expect(job!.startTime).toBe('2026⟨U+202E⟩-11')
})
