import { expect, test } from 'vitest'
import { parseScrapydTime, readPendingJob } from './pending-jobs.ts'

const read = (message: unknown, priority: number | null = 0) =>
  readPendingJob({ id: 1, priority, message: typeof message === 'string' ? message : JSON.stringify(message) })

test('a message of Scrapyd becomes a job: unknown fields are spider arguments', () => {
  const message = { name: 'prices', _job: 'a-1', _version: '1_0', settings: { A: 'b' }, category: 'ä', page: 3 }
  expect(read(message, 2)).toEqual({
    spider: 'prices',
    jobid: 'a-1',
    version: '1_0',
    settings: { A: 'b' },
    args: { category: 'ä', page: '3' },
    priority: 2
  })
  expect(read({ name: 'prices', _job: 'a', _version: '' })).toMatchObject({ version: null, settings: {}, args: {} })
})

test('a priority that is not a number comes last, infinite ones first or last', () => {
  const message = { name: 'a', _job: 'b' }
  const priorityOf = (priority: number | null) => (read(message, priority) as { priority: number }).priority
  expect(priorityOf(null)).toBe(-Number.MAX_VALUE)
  expect(priorityOf(Number.POSITIVE_INFINITY)).toBe(Number.MAX_VALUE)
  expect(priorityOf(Number.NEGATIVE_INFINITY)).toBe(-Number.MAX_VALUE)
})

test.each([
  ['no json', 'its message is not JSON'],
  ['[1]', 'its message is not an object'],
  [{ name: 'a' }, 'has no spider or no job'],
  [{ name: 'a', _job: 'b', _version: 1 }, 'its version is not text'],
  [{ name: 'a', _job: 'b', settings: ['x'] }, 'its settings are not an object'],
  [{ name: 'a', _job: 'b', settings: { X: null } }, 'its setting "X" is not text'],
  [{ name: 'a', _job: 'b', tags: ['x'] }, 'its argument "tags" is not text'],
  [{ name: 'a', _job: '../b' }, 'its jobid contains a slash'],
  [{ name: '..', _job: 'b' }, 'its spider is a folder reference']
])('%j is left out, with the reason', (message, why) => {
  expect(read(message)).toContain(why)
})

test.each([
  [{ id: 1, priority: 'abc', message: '{}' }, 'its priority is not a number'],
  [{ id: 1, priority: 0, message: null }, 'its message is not text']
])('%j, which SQLite accepts in any column, is left out, with the reason', (row, why) => {
  expect(readPendingJob(row as unknown as Parameters<typeof readPendingJob>[0])).toBe(why)
})

test('times are local, with or without their fraction', () => {
  expect(parseScrapydTime('2026-11-21 01:02:03.004999')).toBe(new Date(2026, 10, 21, 1, 2, 3, 4).getTime())
  expect(parseScrapydTime('2026-11-21 01:02:03')).toBe(new Date(2026, 10, 21, 1, 2, 3).getTime())
  expect(parseScrapydTime('yesterday')).toBeNull()
})
