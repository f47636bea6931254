import { expect, it } from 'vitest'
import { describeMore, readMore, startMore } from './run-more-form.ts'

const nowMs = new Date(2026, 10, 21, 9, 0).getTime()
const empty = startMore({}, {})

it('asks for nothing when nothing was said: the simple case stays simple', () => {
  expect(readMore(empty, nowMs)).toEqual({ more: {} })
  expect(describeMore({}, nowMs)).toBeNull()
})

it('reads all that was said, and says it in a line', () => {
  const form = {
    ...empty,
    notBefore: '2026-11-21T14:00',
    expires: '2026-11-21T18:30',
    retry: { ...empty.retry, attempts: '3' },
    noOverlap: true,
    after: [
      { jobId: 'a'.repeat(32), on: 'succeeded' as const },
      { jobId: 'b'.repeat(32), on: 'ended' as const }
    ],
    dedupeKey: ' nightly ',
    dedupeTtl: '2 h'
  }
  const read = readMore(form, nowMs)
  if ('problem' in read) throw new Error(read.problem)
  expect(read.more).toMatchObject({
    notBeforeMs: new Date(2026, 10, 21, 14, 0).getTime(),
    expiresAtMs: new Date(2026, 10, 21, 18, 30).getTime(),
    retry: { attempts: 3 },
    noOverlap: true,
    after: [{ on: 'succeeded' }, { on: 'ended' }],
    dedupe: { key: 'nightly', ttlSeconds: 7200 }
  })
  expect(describeMore(read.more, nowMs)).toBe(
    'not before 14:00 · expires 18:30 · up to 3 runs · no overlap · after 2 other jobs · key nightly'
  )
})

it('says when a time cannot be meant', () => {
  const problem = (patch: object) => readMore({ ...empty, ...patch }, nowMs)
  expect(problem({ expires: '2026-11-21T08:00' })).toEqual({ problem: 'Expires: that time is past' })
  expect(problem({ notBefore: '2026-11-21T14:00', expires: '2026-11-21T13:00' })).toEqual({
    problem: 'Expires: that is before it may be sent'
  })
  expect(problem({ dedupeKey: 'k', dedupeTtl: '5' })).toEqual({ problem: 'Key: 5 what? 5 s or 5 min' })
})

it('takes times and the job waited for from what it was opened with only, never from the last run', () => {
  const last = { retry: null, noOverlap: true, notBeforeMs: nowMs, after: [{ jobId: 'b', on: 'ended' as const }] }
  expect(startMore(last, {})).toMatchObject({ notBefore: '', after: [], noOverlap: true })
  expect(startMore({}, { notBeforeMs: nowMs }).notBefore).toBe('2026-11-21T09:00')
})
