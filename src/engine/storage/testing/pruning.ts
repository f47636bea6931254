import { describe, expect, test } from 'vitest'
import { RunTemplate } from '../../../shared/contract/index.ts'
import { aChainId, aProjectName, aScheduleId, branded } from '../../../shared/testing/ids.ts'
import { aNewFiring, aNewJob, aRetention, aStoredSchedule, entry } from '../../testing/builders.ts'
import type { NewFiring, Retention } from '../../model/records.ts'
import type { Story } from './story.ts'

const ALL = { before: null, limit: 1_000 }

export function describePruning(story: Story): void {
  const put = async () => {
    const schedule = aStoredSchedule()
    await story.store.putSchedule(schedule)
    return schedule.id
  }
  const fire = async (scheduleId: string, nominalMs: number[], over: Partial<NewFiring> = {}) => {
    const firings = nominalMs.map((atMs) => aNewFiring({ scheduleId, nominalMs: atMs, atMs, ...over }))
    return story.store.fire(firings)
  }
  const firingsKept = (over: Partial<Retention['firings']>) =>
    aRetention({ firings: { ...aRetention().firings, ...over } })
  const left = async (scheduleId: string) =>
    (await story.store.listFirings({ scheduleId: aScheduleId(scheduleId) }, ALL))
      .map(({ nominalMs }) => nominalMs)
      .reverse()

  test('a cancel that chains know of can be undone until it is too long ago, and then they forget the job', async () => {
    const { store, enqueue } = story
    const chainId = 'c'.repeat(32)
    const run = RunTemplate.parse({ project: 'shop', spiders: ['details'] })
    const settings = {
      name: 'after',
      enabled: true,
      project: aProjectName('shop'),
      spider: 'list',
      on: 'ended' as const,
      run
    }
    await store.putChain({ id: aChainId(chainId), settings, createdAtMs: 0 })
    const cancel = async (...jobs: { id: string }[]) => {
      const ids = jobs.map(({ id }) => id)
      expect(await store.cancelQueued(branded(ids), entry())).toEqual(ids)
    }
    const list = { project: aProjectName('shop'), spider: 'list' }
    const [first, second, waits] = [await enqueue(list), await enqueue(list), await enqueue(list)]
    const unknown = await enqueue({ project: aProjectName('shop'), spider: 'other' })
    await cancel(first, unknown)
    const jobs = [aNewJob({ project: 'shop', spider: 'details' })]
    await store.answerChains([{ chainId: aChainId(chainId), jobId: first.id, atMs: entry().atMs, jobs, problem: null }])
    await cancel(...jobs, waits)
    const { atMs: cancelledSinceMs } = entry()
    await cancel(second)
    await store.answerChains([
      { chainId: aChainId(chainId), jobId: second.id, atMs: entry().atMs, jobs: [], problem: null }
    ])

    const retention = aRetention({ chains: { cancelledSinceMs } })
    expect([await store.prune(retention, 1), await store.prune(retention, 1), await store.prune(retention, 1)]).toEqual(
      [1, 1, 0]
    )
    const all = [first, second, waits, unknown, ...jobs].map(({ id }) => id)
    expect(await store.restoreCancelled(all, entry())).toEqual([second, waits, unknown].map(({ id }) => id))
    await cancel(second, waits)
    expect(await store.listDueChains(9)).toEqual([{ chainId, jobId: waits.id }])
  })

  describe('the history of firings', () => {
    test('keeps the newest of each schedule, whatever became of them', async () => {
      const [busy, calm] = [await put(), await put()]
      await fire(busy, [1, 2, 3])
      await fire(busy, [4], { state: 'skipped', reason: 'overlap' })
      await fire(calm, [1, 2])
      await fire(busy, [5], { state: 'missed', reason: 'out_of_window' })
      await fire(busy, [6], { origin: 'manual', reason: 'run_now' })
      expect(await story.store.prune(firingsKept({ newest: 2 }), 100)).toBe(4)
      expect([await left(busy), await left(calm)]).toEqual([
        [5, 6],
        [1, 2]
      ])
      expect(await story.store.prune(firingsKept({ newest: 2 }), 100)).toBe(0)
    })

    test('keeps nothing that is older than it is to be', async () => {
      const [old, young] = [await put(), await put()]
      await fire(old, [10, 20])
      await fire(young, [15, 25])
      expect(await story.store.prune(firingsKept({ sinceMs: 20 }), 100)).toBe(2)
      expect([await left(old), await left(young)]).toEqual([[20], [25]])
    })

    test('is shortened from its oldest rows on, so many in a step and no more', async () => {
      const [one, other] = [await put(), await put()]
      await fire(one, [1, 2, 3, 4])
      await fire(other, [1, 2, 3, 4])
      const retention = firingsKept({ newest: 1 })
      const steps = [
        await story.store.prune(retention, 4),
        await story.store.prune(retention, 4),
        await story.store.prune(retention, 4)
      ]
      expect(steps).toEqual([4, 2, 0])
      expect([await left(one), await left(other)]).toEqual([[4], [4]])
      await fire(one, [5, 6])
      await story.store.prune(firingsKept({ newest: 2 }), 1)
      expect(await left(one)).toEqual([5, 6])
    })

    test('deletes no firings of a schedule with a backfill under way', async () => {
      const [filled, other] = [await put(), await put()]
      await fire(filled, [1, 2, 3])
      await fire(other, [1, 2, 3])
      expect(await story.store.prune(firingsKept({ newest: 1, sinceMs: 3, except: [filled] }), 100)).toBe(2)
      expect([await left(filled), await left(other)]).toEqual([[1, 2, 3], [3]])
    })

    test('keeps moments that a clock set back brings once more', async () => {
      const id = await put()
      await fire(id, [1, 900, 2, 3])
      expect(await story.store.prune({ ...firingsKept({ newest: 1 }), nowMs: 800 }, 100)).toBe(2)
      expect(await left(id)).toEqual([900, 3])
    })

    test('tells of the moments between those that were forgotten that they may have run, and no backfill repeats them', async () => {
      const id = await put()
      await fire(id, [40], { state: 'missed', reason: 'catch_up_none' })
      await fire(id, [50, 70])
      await fire(id, [45], { origin: 'manual', reason: 'run_now' })
      await fire(id, [80, 90])
      const asked = [30, 40, 50, 60, 70, 80, 85, 90]
      expect(await story.store.findFired(id, asked)).toEqual({ fired: [50, 70, 80, 90], forgotten: [] })
      await story.store.prune(firingsKept({ newest: 2 }), 100)
      const found = { fired: [80, 90], forgotten: [50, 60, 70] }
      expect(await story.store.findFired(id, asked)).toEqual(found)
      await story.reopen()
      expect(await story.store.findFired(id, asked)).toEqual(found)

      const job = aNewJob()
      const backfilled = {
        origin: 'backfill',
        reason: 'backfill',
        backfillId: 'b1',
        jobs: [job]
      } satisfies Partial<NewFiring>
      expect(await fire(id, [60], backfilled)).toEqual([null])
      expect(await story.store.getJob(job.id)).toBeNull()
      expect(await fire(id, [40], backfilled)).not.toContain(null)
    })

    test('of a schedule goes on being counted after an edit', async () => {
      const schedule = aStoredSchedule()
      await story.store.putSchedule(schedule)
      await fire(schedule.id, [1, 2, 3])
      await story.store.prune(firingsKept({ newest: 2 }), 100)
      await story.store.putSchedule({ ...schedule, revision: 2 })
      expect((await story.store.findFired(schedule.id, [1])).forgotten).toEqual([1])
      await fire(schedule.id, [4])
      await story.store.prune(firingsKept({ newest: 2 }), 100)
      expect(await left(schedule.id)).toEqual([3, 4])
    })
  })
}
