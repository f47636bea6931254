import { describe, expect, test, vi } from 'vitest'
import { aJobId } from '../../../shared/testing/ids.ts'
import { aNewJob, aRetention, aStoredNode, entry } from '../../testing/builders.ts'
import type { Story } from './story.ts'

export function describeChangeLog(story: Story): void {
  const { enqueue, begin } = story
  describe('the change log', () => {
    test('each changed thing is listed once, with its newest position, in the order of positions', async () => {
      const start = await story.store.changeCursor()
      const [first, second] = [await enqueue(), await enqueue()]
      await story.store.putNode(aStoredNode({ id: 'n1' }))
      await begin(first)
      const { changes, cursor, reset } = await story.store.listChanges(start, 100)
      expect(changes.map(({ noun, id }) => [noun, id])).toEqual([
        ['job', second.id],
        ['node', 'n1'],
        ['job', first.id]
      ])
      expect([cursor, reset]).toEqual([await story.store.changeCursor(), false])
      expect(changes.at(-1)?.cursor).toBe(cursor)
      expect(await story.store.listChanges(cursor, 100)).toEqual({ changes: [], cursor, reset: false })
    })

    test('a write that touches very many jobs is logged as one change', async () => {
      const start = await story.store.changeCursor()
      await story.store.enqueueJobs(Array.from({ length: 201 }, () => aNewJob()))
      expect(await story.store.listChanges(start, 100)).toMatchObject({ changes: [{ noun: 'jobs' }], reset: false })
    })

    test('what a reader takes in small pieces is complete', async () => {
      const jobs = Array.from({ length: 5 }, () => aNewJob())
      await story.store.enqueueJobs(jobs)
      for (const job of jobs) await begin(job)
      const seen = new Set<string>()
      let cursor = 0
      for (;;) {
        const page = await story.store.listChanges(cursor, 2)
        if (page.changes.length === 0) break
        expect(page.changes.length).toBeLessThanOrEqual(2)
        expect(page.cursor).toBeGreaterThan(cursor)
        for (const { id } of page.changes) seen.add(id)
        cursor = page.cursor
      }
      expect([...seen].sort()).toEqual(jobs.map(({ id }) => id))
      expect(cursor).toBe(await story.store.changeCursor())
    })

    test('a reader who was away too long must start over', async () => {
      const start = await story.store.changeCursor()
      for (let count = 0; count < 5; count += 1) await enqueue()
      const end = await story.store.changeCursor()
      expect(await story.store.prune(aRetention({ changes: 2 }), 2)).toBe(2)
      expect((await story.store.listChanges(end - 3, 100)).reset).toBe(false)
      expect(await story.store.prune(aRetention({ changes: 2 }), 9)).toBeGreaterThan(0)
      expect(await story.store.listChanges(start, 100)).toEqual({ changes: [], cursor: end, reset: true })
      expect((await story.store.listChanges(end - 2, 100)).changes.length).toBe(2)
      expect((await story.store.listChanges(end + 1, 100)).reset).toBe(true)
      await story.store.prune(aRetention({ changes: 0 }), 100)
      expect(await story.store.changeCursor()).toBe(end)
      expect((await story.store.listChanges(end, 100)).reset).toBe(false)
      expect((await story.store.listChanges(end - 1, 100)).reset).toBe(true)
    })

    test('positions go on where they were after the store was opened again', async () => {
      await enqueue()
      const before = await story.store.changeCursor()
      await story.store.prune(aRetention({ changes: 0 }), 100)
      await story.reopen()
      expect(await story.store.changeCursor()).toBe(before)
      await enqueue()
      expect(await story.store.changeCursor()).toBeGreaterThan(before)
    })

    test('listeners hear of a change when it can be read, and not of writes that changed nothing', async () => {
      const heard: { cursor: number; readable: number }[] = []
      const stop = story.store.onChange((cursor) => {
        void story.store
          .listChanges(cursor - 1, 10)
          .then(({ changes }) => heard.push({ cursor, readable: changes.length }))
      })
      await enqueue()
      await story.store.putSetting('paused', true)
      await story.store.cancelQueued([aJobId('f'.repeat(32))], entry())
      await vi.waitFor(() => expect(heard).toEqual([{ cursor: expect.any(Number), readable: 1 }]))
      stop()
      await enqueue()
      expect(heard.length).toBe(1)
    })

    test('a listener that throws does not harm the write or the other listeners', async () => {
      const heard: number[] = []
      story.store.onChange(() => {
        throw new Error('a fault of the listener')
      })
      story.store.onChange((cursor) => heard.push(cursor))
      const job = await enqueue()
      expect(await story.store.getJob(job.id)).not.toBeNull()
      expect(heard.length).toBe(1)
    })

    test('a write that failed leaves no position behind', async () => {
      const job = await enqueue()
      const before = await story.store.changeCursor()
      await expect(story.store.enqueueJobs([aNewJob(), job])).rejects.toThrow()
      expect(await story.store.changeCursor()).toBe(before)
    })
  })
}
