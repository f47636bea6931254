import { expect, test } from 'vitest'
import { aJobId } from '../../../shared/testing/ids.ts'
import { aNewFiring, aNewJob } from '../../testing/builders.ts'
import type { NewFiring, StoredFiring } from '../records.ts'
import { createPreparedFirings, createPreparedFiringsOfThread } from './prepared-firings.ts'

const aFiring = () => aNewFiring({ jobs: [aNewJob(), aNewJob()], doneUntilMs: 5 })

function twoSides() {
  const [ours, theirs] = [createPreparedFirings(), createPreparedFiringsOfThread()]
  return { ours, theirs, prepare: (firings: NewFiring[]) => theirs.prepare(structuredClone(ours.prepare(firings))) }
}

function stored({ jobs, doneUntilMs: _, ...firing }: NewFiring, over: Partial<StoredFiring> = {}): StoredFiring {
  const made = { jobIds: jobs.map(({ id }) => id), statuses: jobs.map(() => 'queued' as const) }
  return { ...firing, ...made, id: 7, startedAtMs: null, endedAtMs: null, ...over }
}

test('what was prepared crosses as its number, once; the rest as it is', () => {
  const { ours, theirs, prepare } = twoSides()
  const [prepared, plain] = [aFiring(), aFiring()]
  prepare([prepared])
  const sent = ours.send([plain, prepared])
  expect(sent).toEqual([plain, 0])
  expect(theirs.receive(sent)).toEqual([plain, prepared])
  expect(ours.send([prepared])).toEqual([prepared])
})

test('what the caller knows is not told back: it hears the same', () => {
  const { ours, theirs } = twoSides()
  const firings = [aFiring(), aFiring(), aFiring(), aNewFiring()]
  const fired = [
    stored(firings[0]!),
    null,
    // An earlier job did for one of its jobs, and has ended since.
    stored(firings[2]!, {
      jobIds: [aJobId('f'.repeat(32)), firings[2]!.jobs[1]!.id],
      statuses: ['succeeded', 'queued']
    }),
    stored(firings[3]!, { id: 9 })
  ]
  const sent = theirs.send(firings, fired)
  expect(sent).toEqual([7, null, fired[2], 9])
  expect(ours.receive(firings, structuredClone(sent))).toEqual(fired)
})

test('what was never fired is forgotten, on both sides the same', () => {
  const { ours, theirs, prepare } = twoSides()
  const forgotten = aFiring()
  prepare([forgotten])
  const many = Array.from({ length: 10_000 }, () => aNewFiring())
  prepare(many)
  expect(ours.send([forgotten])).toEqual([forgotten])
  expect(theirs.receive(ours.send(many))).toEqual(many)
  expect(() => theirs.receive([0])).toThrow('0 has not been prepared')
})

test('what did not arrive crosses whole', () => {
  const { ours } = twoSides()
  const firing = aFiring()
  ours.prepare([firing])
  ours.forget([firing])
  expect(ours.send([firing])).toEqual([firing])
})
