import { expect, it } from 'vitest'
import { plain } from '../../../shared/texts/message.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { aNewJob, anAttemptStart } from '../../testing/builders.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { LiveAttempts } from './live-attempts.ts'

async function openBelief() {
  const clock = createFakeClock()
  const temporary = await openTemporaryStore({ clock, inMemory: true })
  const { store } = temporary
  const live = new LiveAttempts({ store, clock })
  const job = aNewJob()
  await store.enqueueJobs([job])
  const { one } = (await live.begin([anAttemptStart(job)])).get(job.id)!
  const end = () =>
    live.end(one, {
      from: ['sending'],
      kind: 'refused',
      result: 'refused',
      jobOutcome: null,
      message: plain('Not accepted'),
      evidence: {}
    })
  const kinds = async () => (await store.listTimeline(job.id)).map(({ kind }) => kind)
  return { live, one, end, kinds, job, store, [Symbol.asyncDispose]: () => temporary.remove() }
}

const SEEN = { kind: 'seen_again', mayHaveRunTwice: true, message: plain('Seen again'), evidence: {} } as const

it('writes an entry of an attempt that has ended, which stays as it was', async () => {
  await using belief = await openBelief()
  const { live, one, end, job, store } = belief
  await end()
  expect(await live.record(one, { ...SEEN, from: ['ended'] })).toBe(true)
  expect(await belief.kinds()).toEqual(['queued', 'sending', 'refused', 'seen_again'])
  expect(await store.getJob(job.id)).toMatchObject({ state: 'queued', mayHaveRunTwice: true })
  expect(live.all()).toEqual([])
})

it('writes no entry where the attempt is no longer in the state that it is about', async () => {
  await using belief = await openBelief()
  const { live, one, end } = belief
  expect(await live.record(one, { ...SEEN, from: ['ended'] })).toBe(false)
  await end()
  expect(await live.record(one, { ...SEEN, from: ['sending'] })).toBe(false)
  expect(await belief.kinds()).toEqual(['queued', 'sending', 'refused'])
})

it('refuses an entry that the transition table does not have, before anything is written', async () => {
  await using belief = await openBelief()
  await belief.end()
  const entry = { kind: 'limit_hit', from: ['ended'], message: plain('Exceeded its limit'), evidence: {} } as const
  await expect(belief.live.record(belief.one, entry)).rejects.toThrow(
    'No attempt goes from ended to ended by limit_hit'
  )
  expect(await belief.kinds()).toEqual(['queued', 'sending', 'refused'])
})
