import { describe, expect, test } from 'vitest'
import { anAttemptNumber, aNodeId, aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { entry } from '../../testing/builders.ts'
import type { NewJob } from '../../model/records.ts'
import type { Story } from './story.ts'
import { plain, say } from '../../../shared/texts/message.ts'

export function describeAttempts(story: Story): void {
  const { enqueue, begin, change, end, kindsOf } = story
  describe('attempts', () => {
    test('a job follows its attempt from sending to the end', async () => {
      const job = await enqueue()
      const attempt = await begin(job, { nodeId: aNodeId('node-4'), version: aVersionName('7') })
      const steps = [
        change(job, { from: ['sending'], to: 'accepted', kind: 'accepted' }),
        change(job, { from: ['accepted'], to: 'running', kind: 'running', details: { pid: 77 } }),
        change(job, { from: ['running'], to: 'finishing', kind: 'finishing' }),
        change(job, {
          from: ['finishing'],
          to: 'ended',
          result: 'failed',
          reason: say('reason.exit_code', { exitCode: 1 }),
          killingLine: 'KeyError: price',
          details: { exitCode: 1, stats: { finish_reason: 'finished', item_scraped_count: 3 } },
          counts: { pages: 5, items: 3, errors: 1 }
        })
      ]
      const states: (string | undefined)[] = []
      for (const step of steps) {
        expect(await story.store.applyChanges([step])).toEqual([true])
        states.push((await story.store.getJob(job.id))?.state)
      }
      expect(states).toEqual(['starting', 'running', 'running', 'ended'])
      expect(await story.store.listAttempts(job.id)).toEqual([
        {
          ...attempt,
          state: 'ended',
          result: 'failed',
          reason: 'exit code 1',
          reasonCode: 'reason.exit_code',
          reasonParams: { exitCode: 1 },
          acceptedAtMs: steps[0]?.entry.atMs,
          startedAtMs: steps[1]?.entry.atMs,
          endedAtMs: steps[3]?.entry.atMs,
          pid: 77,
          exitCode: 1,
          stats: { finish_reason: 'finished', item_scraped_count: 3 }
        }
      ])
      expect(await story.store.getJob(job.id)).toMatchObject({
        status: 'failed',
        reason: 'exit code 1',
        reasonCode: 'reason.exit_code',
        reasonParams: { exitCode: 1 },
        killingLine: 'KeyError: price',
        nodeId: 'node-4',
        startedAtMs: steps[1]?.entry.atMs,
        endedAtMs: steps[3]?.entry.atMs,
        pages: 5,
        items: 3,
        errors: 1
      })
      expect(await kindsOf(job)).toEqual(['queued', 'sending', 'accepted', 'running', 'finishing', 'ended'])
      expect((await story.store.listTimeline(job.id)).map(({ attemptNumber }) => attemptNumber)).toEqual([
        null,
        1,
        1,
        1,
        1,
        1
      ])
      expect(await story.store.listLiveAttempts()).toEqual([])
    })

    test('a change from another state than the attempt is in is skipped and leaves no trace', async () => {
      const job = await enqueue()
      await begin(job)
      const accept = change(job, { from: ['sending'], to: 'accepted', kind: 'accepted' })
      expect(
        await story.store.applyChanges([accept, accept, { ...accept, attemptNumber: anAttemptNumber(2) }])
      ).toEqual([true, false, false])
      expect(await story.store.applyChanges([change({ id: 'f'.repeat(32) }, { to: 'accepted' })])).toEqual([false])
      expect(await kindsOf(job)).toEqual(['queued', 'sending', 'accepted'])
    })

    test('of two who end one attempt, one does', async () => {
      const job = await enqueue()
      await begin(job)
      const ends = await Promise.all([end(job, { result: 'succeeded' }), end(job, { result: 'lost' })])
      expect(ends.flat().sort()).toEqual([false, true])
      expect(await kindsOf(job)).toEqual(['queued', 'sending', 'ended'])
    })

    test.each(['refused', 'absent'] as const)(
      'a job whose attempt was %s waits again in its old place',
      async (result) => {
        const [job, younger] = [await enqueue(), await enqueue()]
        await begin(job)
        await end(job, { result, kind: result, reason: plain('no room') })
        expect(await story.store.getJob(job.id)).toMatchObject({
          state: 'queued',
          outcome: null,
          reason: null,
          startedAtMs: null,
          attemptCount: 1,
          sentVersion: '1',
          nodeId: 'node-1'
        })
        expect((await story.heads(2))[0]?.jobs.map(({ id }) => id)).toEqual([job.id, younger.id])
        expect(await story.store.listAttempts(job.id)).toMatchObject([{ state: 'ended', result, reason: 'no room' }])
        await begin(job, { number: anAttemptNumber(2), nodeId: aNodeId('node-2') })
        expect(await story.store.getJob(job.id)).toMatchObject({ state: 'starting', attemptCount: 2, nodeId: 'node-2' })
      }
    )

    test('a job that was to be cancelled ends instead of going back to the queue', async () => {
      const job = await enqueue()
      await begin(job)
      await story.store.askCancel([job.id], entry())
      await end(job, { result: 'absent', kind: 'absent' })
      expect(await story.store.getJob(job.id)).toMatchObject({ state: 'ended', status: 'cancelled' })
      expect(await kindsOf(job)).toEqual(['queued', 'sending', 'cancel_asked', 'absent', 'ended'])
      expect(await story.heads(1)).toEqual([])
    })

    test.each(['["blocked", "https://…', '["timeout","retry"]', '["reason.expired"]'])(
      'the reason of a spider is kept as it is, also if it looks like one of ours: %s',
      async (reason) => {
        const job = await enqueue()
        await begin(job)
        await end(job, { result: 'failed', reason: plain(reason) })
        const stored = await story.store.getJob(job.id)
        expect(stored).toMatchObject({ state: 'ended', reason })
        expect(stored).not.toHaveProperty('reasonCode')
      }
    )

    test.each([
      [say('node_error.aborted', { label: 'eu-1' }), 'Node eu-1 timed out.', 'node_error.aborted'],
      ['KeyError: price', 'KeyError: price', undefined],
      ['["node_error.aborted",{"label":"eu-1"}]', '["node_error.aborted",{"label":"eu-1"}]', undefined]
    ])('what ended a job is stored with its code only if it is a text of ours: %j', async (line, text, code) => {
      const job = await enqueue()
      await begin(job)
      await end(job, { result: 'failed', killingLine: line })
      const { killingLine, killingLineCode } = (await story.store.getJob(job.id))!
      expect({ killingLine, killingLineCode }).toEqual({ killingLine: text, killingLineCode: code })
    })

    test('texts of ours in the evidence of an entry are read with their codes, others as they are', async () => {
      const job = await enqueue()
      const because = say('placed.on_free_slot', { free: 1, slots: 4 })
      const foreign = { nodeMessage: '["placed.to_try"]', exit: { code: 1, signal: null } }
      await begin(job, { entry: entry('Sent', { evidence: { because, ...foreign } }) })
      expect((await story.store.listTimeline(job.id)).at(-1)).toMatchObject({
        evidence: { because: '1 of 4 slots free, has the egg', ...foreign },
        evidenceCodes: { because }
      })
    })

    test('the outcome of a job may differ from the result of its attempt', async () => {
      const [hopeless, retried] = [await enqueue(), await enqueue()]
      await begin(hopeless)
      await begin(retried)
      await end(hopeless, { result: 'refused', jobOutcome: 'failed', reason: plain('no such spider') })
      await end(retried, { result: 'lost', jobOutcome: null, counts: { pages: 1, items: 1, errors: 1 } })
      expect(await story.store.getJob(hopeless.id)).toMatchObject({ status: 'failed', reason: 'no such spider' })
      expect(await story.store.getJob(retried.id)).toMatchObject({
        status: 'queued',
        pages: null,
        items: null,
        errors: null
      })
    })

    test('details without a new state are kept, and an ended attempt stays ended', async () => {
      const job = await enqueue()
      await begin(job)
      expect(await story.store.applyChanges([change(job, { details: { pid: 5 } })])).toEqual([true])
      await end(job)
      const anew = change(job, { from: ['ended'], to: 'running', kind: 'running' })
      await expect(story.store.applyChanges([anew])).rejects.toThrow(/No attempt goes from ended to running/)
      const late = change(job, {
        from: ['ended'],
        details: { stats: { a: 1 } },
        counts: { pages: 2, items: null, errors: 0 }
      })
      expect(await story.store.applyChanges([late])).toEqual([true])
      expect(await story.store.listAttempts(job.id)).toMatchObject([{ pid: 5, state: 'ended', stats: { a: 1 } }])
      expect(await story.store.getJob(job.id)).toMatchObject({ status: 'succeeded', pages: 2, items: null, errors: 0 })
    })

    test('an attempt that is found again takes its waiting job out of the queue, and ends anew', async () => {
      const job = await enqueue()
      await begin(job, { nodeId: aNodeId('node-4') })
      const retryAtMs = entry().atMs + 60_000
      await end(job, { result: 'lost', reason: plain('given up'), jobOutcome: null, retryAtMs, mayHaveRunTwice: true })
      expect((await story.store.getJob(job.id))?.mayHaveRunTwice).toBe(true)
      const found = change(job, { from: ['ended'], to: 'running', kind: 'found_again' })
      expect(await story.store.applyChanges([found])).toEqual([true])
      expect(await story.heads(1)).toEqual([])
      expect(await story.store.getJob(job.id)).toMatchObject({
        state: 'running',
        hold: null,
        nodeId: 'node-4',
        startedAtMs: found.entry.atMs,
        reason: null,
        notBeforeMs: null,
        mayHaveRunTwice: false
      })
      const [attempt] = await story.store.listLiveAttempts()
      expect(attempt).toMatchObject({ state: 'running', result: null, reason: null, endedAtMs: null })
      await end(job, { from: ['running'] })
      expect(await story.store.getJob(job.id)).toMatchObject({ status: 'succeeded' })
      expect(await kindsOf(job)).toEqual(['queued', 'sending', 'ended', 'found_again', 'ended'])
    })

    test('the flag of a job that had another attempt before stays when one is found again', async () => {
      const job = await enqueue()
      await begin(job)
      await end(job, { result: 'lost', jobOutcome: null, mayHaveRunTwice: true })
      await begin(job, { number: anAttemptNumber(2) })
      await end(job, { attemptNumber: anAttemptNumber(2), result: 'lost', jobOutcome: null, mayHaveRunTwice: true })
      const found = change(job, {
        attemptNumber: anAttemptNumber(2),
        from: ['ended'],
        to: 'running',
        kind: 'found_again'
      })
      expect(await story.store.applyChanges([found])).toEqual([true])
      expect(await story.store.getJob(job.id)).toMatchObject({ state: 'running', mayHaveRunTwice: true })
    })

    test.each([
      ['has started again', async (job: NewJob) => void (await begin(job, { number: anAttemptNumber(2) }))],
      ['was cancelled in the queue', async (job: NewJob) => void (await story.store.cancelQueued([job.id], entry()))]
    ])('an attempt is not found again when its job %s', async (_case, prepare) => {
      const job = await enqueue()
      await begin(job)
      await end(job, { result: 'lost', jobOutcome: null })
      await prepare(job)
      const before = await story.store.getJob(job.id)
      const found = change(job, { from: ['ended'], to: 'running', kind: 'found_again' })
      expect(await story.store.applyChanges([found])).toEqual([false])
      expect(await story.store.getJob(job.id)).toEqual(before)
    })

    test('an attempt is not found again while another job of its overlap key is live', async () => {
      const [job, other] = [await enqueue({ noOverlap: true }), await enqueue({ noOverlap: true })]
      await begin(job)
      await end(job, { result: 'lost', jobOutcome: null })
      await begin(other)
      const found = change(job, { from: ['ended'], to: 'running', kind: 'found_again' })
      expect(await story.store.applyChanges([found])).toEqual([false])
    })

    test('what is learned late of an old attempt does not touch the job', async () => {
      const job = await enqueue()
      await begin(job)
      await end(job, { result: 'absent' })
      await begin(job, { number: anAttemptNumber(2) })
      const late = change(job, { from: ['ended'], counts: { pages: 9, items: 9, errors: 9 }, killingLine: 'x' })
      expect(await story.store.applyChanges([late])).toEqual([true])
      expect(await story.store.getJob(job.id)).toMatchObject({ state: 'starting', pages: null, killingLine: null })
    })

    test('an end without a result is refused and changes nothing', async () => {
      const job = await enqueue()
      const [attempt] = [await begin(job)]
      await expect(story.store.applyChanges([change(job, { to: 'ended' })])).rejects.toThrow(
        /No attempt goes from sending to ended/
      )
      expect(await story.store.listLiveAttempts()).toEqual([attempt])
      expect(await kindsOf(job)).toEqual(['queued', 'sending'])
    })

    test('attempts are found by where they ran and under which jobid', async () => {
      const [first, second] = [await enqueue(), await enqueue({ project: aProjectName('other'), jobid: 'mine' })]
      await begin(first)
      await end(first)
      await begin(second, { jobid: 'mine' })
      const runs = [
        { project: aProjectName('other'), jobid: 'mine' },
        { project: aProjectName('shop'), jobid: first.id },
        { project: aProjectName('shop'), jobid: 'mine' }
      ]
      expect((await story.store.findAttemptsOnNode(aNodeId('node-1'), runs)).map(({ jobId }) => jobId)).toEqual([
        second.id,
        first.id
      ])
      expect(await story.store.findAttemptsOnNode(aNodeId('node-2'), runs)).toEqual([])
    })

    test('the order of writes, not clocks, decides whether a run of ours there ended before an attempt was begun', async () => {
      const [before, later, asked] = [await enqueue(), await enqueue(), await enqueue()]
      const runOf = ({ id }: NewJob) => [{ project: aProjectName('shop'), jobid: id }]
      const hasEndedBefore = (job: NewJob, nodeId = 'node-1') =>
        story.store.hasEndedBefore(aNodeId(nodeId), runOf(job), { jobId: asked.id, number: anAttemptNumber(1) })
      await begin(before)
      await end(before)
      await begin(later)
      await begin(asked)
      expect(await hasEndedBefore(later)).toBe(false)
      // The wall clock was set back before this end.
      await end(later, { entry: entry('it ended', { atMs: 1 }) })
      expect(await hasEndedBefore(before)).toBe(true)
      expect(await hasEndedBefore(later)).toBe(false)
      expect(await hasEndedBefore(before, 'node-2')).toBe(false)
    })

    test('an archived log is noted', async () => {
      const job = await enqueue()
      await begin(job)
      const log = { packed: null, sizes: { rawBytes: 5_000_000, storedBytes: 600_000 } }
      expect(await story.store.findArchivedLog(job.id, anAttemptNumber(1))).toBeNull()
      await story.store.markLogArchived(job.id, anAttemptNumber(1), log)
      expect((await story.store.listAttempts(job.id))[0]?.logArchived).toBe(true)
      expect(await story.store.findArchivedLog(job.id, anAttemptNumber(1))).toEqual(log)
    })

    test('a small archived log is kept with its attempt, as it was archived last', async () => {
      const job = await enqueue()
      await begin(job)
      for (const bytes of [[31, 139, 8, 0, 255], [1]]) {
        const sizes = { rawBytes: 10, storedBytes: bytes.length }
        await story.store.markLogArchived(job.id, anAttemptNumber(1), { packed: Uint8Array.from(bytes), sizes })
        const kept = await story.store.findArchivedLog(job.id, anAttemptNumber(1))
        expect({ ...kept, packed: [...kept!.packed!] }).toEqual({ packed: bytes, sizes })
      }
      expect(await story.store.findArchivedLog(job.id, anAttemptNumber(2))).toBeNull()
    })
  })
}
