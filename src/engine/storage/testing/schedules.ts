import type { ProjectName } from '../../../shared/contract/index.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aProjectName, aScheduleId } from '../../../shared/testing/ids.ts'
import { plain, say } from '../../../shared/texts/message.ts'
import { aNewFiring, aNewJob, aStoredSchedule } from '../../testing/builders.ts'
import { jobIdBytesOf, type NewFiring, type StoredSchedule } from '../../model/records.ts'
import type { Story } from './story.ts'

export function describeSchedules(story: Story): void {
  const { begin, end, pageIds } = story
  const put = async (over: Partial<StoredSchedule> = {}) => {
    const schedule = aStoredSchedule(over)
    await story.store.putSchedule(schedule)
    return schedule
  }
  const get = async ({ id }: { id: string }) => (await story.store.getSchedules([aScheduleId(id)]))[0]
  const aFiringOf = ({ id: scheduleId }: { id: string }, over: Partial<NewFiring> = {}) => {
    const firing = aNewFiring({ scheduleId, ...over })
    const job = aNewJob({ source: 'schedule', scheduleId, nominalMs: firing.nominalMs })
    return { job, firing: { ...firing, jobs: over.jobs ?? [job] } }
  }

  describe('schedules', () => {
    test('schedules are kept, listed by name, changed and removed with their history', async () => {
      const last = aStoredSchedule({ settings: { ...aStoredSchedule().settings, name: 'weekly' } })
      const first = aStoredSchedule({ settings: { ...aStoredSchedule().settings, name: 'daily' } })
      await story.store.putSchedule(last)
      await story.store.putSchedule(first)
      const changed = {
        ...last,
        revision: 2,
        movedAtMs: 77,
        paused: true,
        pauseNote: 'the shop is shut',
        pausedBy: 'operator' as const
      }
      await story.store.putSchedule(changed)
      expect(await story.store.listSchedules()).toEqual([first, changed])
      expect(await story.store.getSchedules([last.id, aScheduleId('f'.repeat(32)), first.id])).toEqual([changed, first])
      const { firing, job } = aFiringOf(last)
      await story.store.fire([firing])
      expect(await story.store.deleteSchedules([last.id, aScheduleId('f'.repeat(32))])).toEqual([last.id])
      expect(await story.store.listSchedules()).toEqual([first])
      expect(await story.store.listFirings({ scheduleId: last.id }, { before: null, limit: 9 })).toEqual([])
      expect((await story.store.getJob(job.id))?.scheduleId).toBe(last.id)
    })

    test('schedules are paged by name whatever its case, and found by their words', async () => {
      const named = (name: string, jobs?: { project: ProjectName; spiders: string[] }[]) => {
        const { settings } = aStoredSchedule()
        const templates = jobs?.map((job) => ({ ...settings.jobs[0]!, ...job }))
        return put({ settings: { ...settings, name, jobs: templates ?? settings.jobs } })
      }
      await named('b 100%')
      await named('A', [{ project: aProjectName('books'), spiders: ['covers'] }])
      await named('B 100%', [
        { project: aProjectName('shop'), spiders: ['prices', 'stock'] },
        { project: aProjectName('books'), spiders: ['list'] }
      ])
      await named('c')
      const names = async (...asked: Parameters<typeof story.store.pageSchedules>) => {
        const { schedules, total } = await story.store.pageSchedules(...asked)
        return [total, ...schedules.map(({ settings }) => settings.name)]
      }
      const placeOf = ({ id, settings }: StoredSchedule) => ({ id, name: settings.name })
      const all = await story.store.listSchedules()
      expect(all.map(({ settings }) => settings.name)).toEqual(['A', 'b 100%', 'B 100%', 'c'])
      const pages = [await names({}, { after: null, limit: 3 }), await names({}, { after: placeOf(all[2]!), limit: 3 })]
      expect(pages).toEqual([
        [4, 'A', 'b 100%', 'B 100%'],
        [4, 'c']
      ])
      const whole = { after: null, limit: 9 }
      expect(await names({ text: '0%' }, whole)).toEqual([2, 'b 100%', 'B 100%'])
      expect(await names({ text: 'COVER' }, whole)).toEqual([1, 'A'])
      expect(await names({ text: 'stock', project: aProjectName('books') }, whole)).toEqual([1, 'B 100%'])
      expect(await names({ project: aProjectName('book') }, whole)).toEqual([0])
      expect(await names({ name: 'B 100%' }, whole)).toEqual([1, 'B 100%'])
      await story.store.putSchedule({ ...all[3]!, revision: 2, paused: true, pausedBy: 'failures' })
      expect(await names({ pausedBy: ['invalid', 'failures'] }, whole)).toEqual([1, 'c'])
      expect(await names({ pausedBy: ['operator'] }, whole)).toEqual([0])
      expect(await names({ name: 'b 100%' }, whole)).toEqual([1, 'b 100%'])
      expect(await names({ text: '0%' }, { after: placeOf(all[1]!), limit: 9 })).toEqual([2, 'B 100%'])
      expect(await names({ pausedBy: ['failures'] }, { after: placeOf(all[0]!), limit: 9 })).toEqual([1, 'c'])
    })

    test('pages of schedules go on where they were, though the schedule that they go on after was removed or renamed', async () => {
      const { settings } = aStoredSchedule()
      const made = []
      for (const name of ['a', 'b', 'c', 'd']) made.push(await put({ settings: { ...settings, name } }))
      const { schedules } = await story.store.pageSchedules({}, { after: null, limit: 2 })
      const { id, settings: last } = schedules.at(-1)!
      const rest = async () => {
        const page = await story.store.pageSchedules({}, { after: { name: last.name, id }, limit: 9 })
        return page.schedules.map((schedule) => schedule.settings.name)
      }
      await story.store.putSchedule({ ...made[1]!, revision: 2, settings: { ...settings, name: 'z' } })
      expect(await rest()).toEqual(['c', 'd', 'z'])
      await story.store.deleteSchedules([id])
      expect(await rest()).toEqual(['c', 'd'])
    })

    test('a change of what another user has changed or removed meanwhile is refused', async () => {
      const schedule = await put()
      await story.store.putSchedule({ ...schedule, revision: 2 })
      const again = { ...schedule, revision: 2, paused: true }
      await expect(story.store.putSchedule(again)).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' })
      await expect(story.store.putSchedule(schedule)).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' })
      expect((await get(schedule))?.paused).toBe(false)
      await story.store.deleteSchedules([schedule.id])
      await expect(story.store.putSchedule({ ...schedule, revision: 3 })).rejects.toMatchObject({
        code: 'SCHEDULE_NOT_FOUND'
      })
    })

    test('a firing is written with its jobs and moves its schedule on', async () => {
      const schedule = await put()
      const { firing, job } = aFiringOf(schedule, { doneUntilMs: schedule.doneUntilMs + 60_000 })
      const [written] = await story.store.fire([firing])
      const { jobs: _jobs, doneUntilMs, message, ...fields } = firing
      const of = { ...message, text: 'On time', startedAtMs: null, endedAtMs: null, statuses: ['queued'] }
      expect(written).toEqual({ ...fields, ...of, id: expect.any(Number), jobIds: [job.id] })
      expect(await story.store.listRecentFirings([schedule.id], 5)).toEqual([written])
      expect(await story.store.getJob(job.id)).toMatchObject({
        scheduleId: schedule.id,
        nominalMs: firing.nominalMs,
        source: 'schedule',
        state: 'queued'
      })
      expect(await get(schedule)).toEqual({ ...schedule, doneUntilMs, runCount: 1 })
    })

    test('a firing keeps the code and the parameters of its text, and words from before there were codes', async () => {
      const schedule = await put()
      const isLate = { message: say('firing.superseded', { cause: 'clock' }), state: 'missed' } as const
      await story.store.fire([
        aFiringOf(schedule, isLate).firing,
        aFiringOf(schedule, { message: plain('late') }).firing
      ])
      expect(await story.store.listRecentFirings([schedule.id], 5)).toMatchObject([
        { text: 'late', code: 'text', params: { text: 'late' } },
        {
          text: expect.stringMatching(/^Missed while the machine slept/),
          code: 'firing.superseded',
          params: { cause: 'clock' }
        }
      ])
    })

    test('a moment fires once: neither again, nor twice in one call, nor by a backfill; the schedule moves on all the same', async () => {
      const schedule = await put()
      const { firing } = aFiringOf(schedule)
      const [first, twin] = await story.store.fire([firing, { ...firing, jobs: [aNewJob()] }])
      expect([first?.nominalMs, twin]).toEqual([firing.nominalMs, null])
      const late = aNewJob()
      const filler = {
        ...firing,
        origin: 'backfill' as const,
        backfillId: 'b1',
        jobs: [late],
        doneUntilMs: firing.nominalMs
      }
      expect(await story.store.fire([filler])).toEqual([null])
      expect(await story.store.getJob(late.id)).toBeNull()
      expect(await get(schedule)).toMatchObject({ runCount: 1, doneUntilMs: firing.nominalMs })
      expect(await story.store.findFired(schedule.id, [1, firing.nominalMs, 2])).toEqual({
        fired: [firing.nominalMs],
        forgotten: []
      })
    })

    test('what is run by hand, skipped or missed does not stand in the way of the moment', async () => {
      const schedule = await put()
      const { firing } = aFiringOf(schedule)
      const { nominalMs } = firing
      const skipped = { ...firing, state: 'skipped' as const, reason: 'overlap' as const, jobs: [] }
      const manual = () => ({
        ...aFiringOf(schedule, { nominalMs, origin: 'manual' }).firing,
        reason: 'run_now' as const
      })
      const written = await story.store.fire([skipped, manual(), manual()])
      expect(written).not.toContain(null)
      expect((await story.store.findFired(schedule.id, [nominalMs])).fired).toEqual([])
      expect(await story.store.fire([firing])).not.toContain(null)
      expect((await get(schedule))?.runCount).toBe(3)
    })

    test('all or none: where a job cannot be written, no moment is done', async () => {
      const schedule = await put()
      const one = aFiringOf(schedule, { doneUntilMs: 5_000_000_000_000 })
      const impossible = aNewJob({ after: [{ jobId: 'f'.repeat(32), on: 'ended' }] })
      const other = aFiringOf(schedule, { nominalMs: 7, jobs: [impossible] })
      await expect(story.store.fire([one.firing, other.firing])).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
      expect(await story.store.getJob(one.job.id)).toBeNull()
      expect(await story.store.listRecentFirings([schedule.id], 5)).toEqual([])
      expect(await get(schedule)).toEqual(schedule)
    })

    test('a firing of a schedule that is gone leaves nothing', async () => {
      const { firing, job } = aFiringOf({ id: 'f'.repeat(32) })
      expect(await story.store.fire([firing])).toEqual([null])
      expect(await story.store.getJob(job.id)).toBeNull()
    })

    test('a moment that is done stays done, whatever an edit that began before it says', async () => {
      const schedule = await put()
      const { firing } = aFiringOf(schedule, { doneUntilMs: schedule.doneUntilMs + 60_000 })
      await story.store.fire([firing])
      await story.store.putSchedule({ ...schedule, revision: 2, failuresInARow: 2 })
      expect(await get(schedule)).toMatchObject({
        doneUntilMs: schedule.doneUntilMs + 60_000,
        runCount: 1,
        failuresInARow: 2
      })
    })

    test('the order of writes decides which firings came after the last change, whatever the clocks said', async () => {
      const schedule = await put()
      const fire = async (atMs: number) => {
        const [fired] = await story.store.fire([aFiringOf(schedule, { nominalMs: atMs, atMs }).firing])
        return fired!.id
      }
      const sinceChange = async (page: { before: number | null; limit: number }) => {
        const filter = { scheduleId: schedule.id, states: ['fired' as const, 'failed' as const], sinceChange: true }
        return (await story.store.listFirings(filter, page)).map(({ id }) => id)
      }
      const first = await fire(900)
      expect(await sinceChange({ before: null, limit: 9 })).toEqual([first])
      await story.store.putSchedule({ ...schedule, revision: 2, changedAtMs: 100 })
      expect(await sinceChange({ before: null, limit: 9 })).toEqual([])
      await story.reopen()
      const [second, third] = [await fire(50), await fire(2_000)]
      expect(await sinceChange({ before: null, limit: 9 })).toEqual([third, second])
      expect(await sinceChange({ before: third, limit: 9 })).toEqual([second])
      expect(await sinceChange({ before: null, limit: 1 })).toEqual([third])
    })

    test('firings tell how their jobs went', async () => {
      const schedule = await put()
      const { firing, job } = aFiringOf(schedule)
      const second = aNewJob({ scheduleId: schedule.id })
      await story.store.fire([{ ...firing, jobs: [job, second] }])
      await begin(job)
      await story.store.applyChanges([
        story.change(job, { to: 'running', kind: 'running', details: { startedAtMs: 40 } })
      ])
      await end(job, {
        result: 'failed',
        jobOutcome: 'failed',
        entry: { atMs: 90, message: plain('it broke'), evidence: {} }
      })
      const [recent] = await story.store.listRecentFirings([schedule.id], 1)
      expect(recent).toMatchObject({ statuses: ['failed', 'queued'], startedAtMs: 40, endedAtMs: 90 })
    })

    test('lists the live jobs of a schedule oldest first, without its ended ones and those of others', async () => {
      const schedule = await put()
      const other = await put()
      const jobs = []
      for (const [of, nominalMs] of [
        [schedule, 1],
        [schedule, 2],
        [other, 3],
        [schedule, 4]
      ] as const) {
        const { firing, job } = aFiringOf(of, { nominalMs })
        await story.store.fire([firing])
        jobs.push(job)
      }
      await begin(jobs[1]!)
      await begin(jobs[0]!)
      await end(jobs[0]!)
      const live = await story.store.listLiveJobsOf(schedule.id)
      expect(live.map(({ id, state }) => [id, state])).toEqual([
        [jobs[1]!.id, 'starting'],
        [jobs[3]!.id, 'queued']
      ])
    })

    test('firings are paged newest first, of all, of one schedule, of one backfill, in some states', async () => {
      const schedule = await put()
      const other = await put()
      const of = async (which: StoredSchedule, over: Partial<NewFiring>) =>
        (await story.store.fire([aFiringOf(which, { jobs: [], ...over }).firing]))[0]!.id
      const ids = [
        await of(schedule, { nominalMs: 1 }),
        await of(schedule, { nominalMs: 2, state: 'missed', reason: 'out_of_window', count: 12 }),
        await of(other, { nominalMs: 3, state: 'skipped', reason: 'overlap' }),
        await of(schedule, { nominalMs: 4, origin: 'backfill', backfillId: 'b1' }),
        await of(other, { nominalMs: 5, state: 'missed', reason: 'catch_up_none' })
      ] as const
      const page = async (
        filter: Parameters<typeof story.store.listFirings>[0],
        before: number | null = null,
        limit = 9
      ) => (await story.store.listFirings(filter, { before, limit })).map(({ id }) => id)
      expect(await page({})).toEqual([...ids].reverse())
      expect(await page({}, ids[3], 2)).toEqual([ids[2], ids[1]])
      expect(await page({ scheduleId: schedule.id })).toEqual([ids[3], ids[1], ids[0]])
      expect(await page({ states: ['missed', 'skipped'] })).toEqual([ids[4], ids[2], ids[1]])
      expect(await page({ states: ['missed', 'skipped'] }, ids[4], 1)).toEqual([ids[2]])
      expect(await page({ scheduleId: schedule.id, states: ['missed'] })).toEqual([ids[1]])
      expect(await page({ backfillId: 'b1' })).toEqual([ids[3]])
      expect(await page({ backfillId: 'b1', states: ['missed'] })).toEqual([])
      expect((await story.store.listRecentFirings([other.id, schedule.id], 2)).map(({ id }) => id)).toEqual([
        ...[ids[4], ids[2]],
        ...[ids[3], ids[1]]
      ])
    })

    test('schedules and firings of other projects are left out, and those that run in several only if all are seen', async () => {
      const [template] = aStoredSchedule().settings.jobs
      const runs = (...projects: string[]) => ({
        settings: {
          ...aStoredSchedule().settings,
          jobs: projects.map((name) => ({ ...template!, project: aProjectName(name) }))
        }
      })
      const [shop, both, news] = [
        await put(runs('shop')),
        await put(runs('shop', 'news')),
        await put(runs('news', 'news'))
      ]
      const schedules = [shop, both, news]
      for (const [index, one] of schedules.entries()) {
        await story.store.fire([
          aFiringOf(one, { jobs: [], nominalMs: index, state: index === 0 ? 'fired' : 'missed' }).firing
        ])
      }
      for (const [names, seen] of [
        [['shop'], [shop]],
        [['news'], [news]],
        [['news', 'shop', 'gone'], schedules],
        [['gone'], []],
        [[], []]
      ] as const) {
        const onlyProjects = names.map((name) => aProjectName(name))
        const page = await story.store.pageSchedules({ onlyProjects }, { after: null, limit: 9 })
        expect(page.schedules.map(({ id }) => id).sort()).toEqual(seen.map(({ id }) => id).sort())
        expect(page.total).toBe(seen.length)
        const of = async (more: Parameters<typeof story.store.listFirings>[0]) =>
          (await story.store.listFirings({ onlyProjects, ...more }, { before: null, limit: 9 })).map(
            ({ scheduleId }) => scheduleId
          )
        const newestFirst = seen.map(({ id }) => id).reverse()
        expect(await of({})).toEqual(newestFirst)
        expect(await of({ states: ['missed', 'failed'] })).toEqual(newestFirst.filter((id) => id !== shop.id))
        expect(await of({ scheduleId: both.id })).toEqual(newestFirst.filter((id) => id === both.id))
      }
    })

    test('a page of firings ends with the one whose jobs fill it, whatever it is filtered by', async () => {
      const schedule = await put()
      const of = async (over: Partial<NewFiring>) => (await story.store.fire([aFiringOf(schedule, over).firing]))[0]!.id
      const ids: number[] = []
      for (const nominalMs of [1, 2, 3, 4]) {
        ids.push(await of({ nominalMs }))
        ids.push(await of({ nominalMs: nominalMs + 10, jobs: [], state: 'missed', reason: 'catch_up_none' }))
      }
      const maxBytes = 2 * ('[]'.length + JSON.stringify(['0'.repeat(32)]).length)
      for (const filter of [{}, { scheduleId: schedule.id }, { states: ['fired' as const, 'missed' as const] }]) {
        const page = async (before: number | null) => story.store.listFirings(filter, { before, limit: 9, maxBytes })
        const first = await page(null)
        expect(first.map(({ id }) => id)).toEqual(ids.slice(4).reverse())
        expect(jobIdBytesOf(first)).toBe(maxBytes)
        const second = await page(first.at(-1)!.id)
        expect(second.map(({ id }) => id)).toEqual(ids.slice(0, 4).reverse())
        expect(await page(second.at(-1)!.id)).toEqual([])
      }
    })

    test('firings are written once, in the order of their call', async () => {
      const schedule = await put()
      const { firing, job } = aFiringOf(schedule, { nominalMs: 1 })
      const { firing: late } = aFiringOf(schedule, { nominalMs: 3 })
      const [first, second] = await story.store.fire([late, firing])
      expect([first!.nominalMs, second!.nominalMs, second!.jobIds]).toEqual([3, 1, [job.id]])
      expect(await story.store.fire([firing])).toEqual([null])
      const rows = await story.store.listFirings({ scheduleId: schedule.id }, { before: null, limit: 9 })
      expect(rows).toEqual([second, first])
    })

    test('firings whose write failed are fired another time', async () => {
      const schedule = await put()
      const [one, other] = [1, 2].map((nominalMs) => aFiringOf(schedule, { nominalMs }).firing) as [
        NewFiring,
        NewFiring
      ]
      const taken = aNewJob()
      const { firing: broken } = aFiringOf(schedule, { nominalMs: 3, jobs: [taken] })
      await story.store.enqueueJobs([taken])
      await expect(story.store.fire([one, broken])).rejects.toThrow()
      const fired = await story.store.fire([other, one])
      expect(fired.map((row) => row?.nominalMs)).toEqual([2, 1])
    })

    test('what changes a schedule, or fires it, is in the change log once a call', async () => {
      const before = await story.store.changeCursor()
      const schedule = await put()
      await story.store.fire([1, 2].map((nominalMs) => aFiringOf(schedule, { nominalMs, jobs: [] }).firing))
      const after = await story.store.changeCursor()
      expect(after - before).toBe(2)
      await story.store.deleteSchedules([schedule.id])
      const { changes } = await story.store.listChanges(before, 100)
      expect(changes.map(({ noun, id }) => [noun, id])).toEqual([['schedule', schedule.id]])
    })

    test('jobs are filtered by their schedule, together with all else, by the page', async () => {
      const schedule = await put()
      const made = []
      for (const nominalMs of [1, 2, 3]) {
        const { firing, job } = aFiringOf(schedule, { nominalMs })
        const jobs = [job, aNewJob({ scheduleId: schedule.id, project: 'books', jobid: `own-${nominalMs}` })]
        await story.store.fire([{ ...firing, jobs }])
        made.push(...jobs)
      }
      await story.enqueue()
      await begin(made[2]!)
      const ids = made.map(({ id }) => id).reverse()
      const scheduleId = schedule.id
      expect(await pageIds({ scheduleId })).toEqual(ids)
      expect(await pageIds({ scheduleId }, ids[1], 2)).toEqual(ids.slice(2, 4))
      expect(await pageIds({ scheduleId, project: 'books' })).toEqual([ids[0], ids[2], ids[4]])
      expect(await pageIds({ scheduleId, status: ['starting'] })).toEqual([made[2]!.id])
      expect(await pageIds({ scheduleId, text: 'own-2' })).toEqual([made[3]!.id])
      expect(await pageIds({ scheduleId, sinceMs: made[4]!.entry.atMs })).toEqual([made[5]!.id, made[4]!.id])
      expect(await pageIds({ scheduleId: aScheduleId('f'.repeat(32)) })).toEqual([])
      const { status, project } = await story.store.countFacets({ scheduleId })
      expect(status).toEqual([
        { value: 'queued', count: 5 },
        { value: 'starting', count: 1 }
      ])
      expect(project.map(({ count }) => count)).toEqual([3, 3])
      expect((await story.store.countFacets({ scheduleId, text: 'own-' })).status).toEqual([
        { value: 'queued', count: 3 }
      ])
    })

    test('jobs are filtered by their user, together with all else, by the page', async () => {
      const schedule = await put()
      const made = []
      for (const [nominalMs, userId] of ['ann', 'bob', 'ann'].entries()) {
        const { firing, job } = aFiringOf(schedule, { nominalMs: nominalMs + 1 })
        const jobs = [
          { ...job, userId },
          { ...aNewJob({ project: 'books', jobid: `own-${nominalMs}` }), userId }
        ]
        await story.store.fire([{ ...firing, jobs }])
        made.push(...jobs)
      }
      await story.enqueue()
      await begin(made[4]!)
      const [ids, scheduleId] = [made.map(({ id }) => id), schedule.id]
      expect((await story.store.getJob(ids[2]!))?.userId).toBe('bob')
      expect(await pageIds({ userId: 'ann' })).toEqual([ids[5], ids[4], ids[1], ids[0]])
      expect(await pageIds({ userId: 'ann' }, ids[5], 2)).toEqual([ids[4], ids[1]])
      expect(await pageIds({ userId: 'bob', project: 'books' })).toEqual([ids[3]])
      expect(await pageIds({ userId: 'ann', status: ['starting'] })).toEqual([ids[4]])
      expect(await pageIds({ userId: 'ann', text: 'own-2' })).toEqual([ids[5]])
      expect(await pageIds({ userId: 'ann', scheduleId })).toEqual([ids[4], ids[0]])
      const jobid = made[1]!.jobid
      expect([await pageIds({ userId: 'ann', jobid }), await pageIds({ userId: 'bob', jobid })]).toEqual([[ids[1]], []])
      for (const userId of ['', 'An', 'ANN', '*']) expect(await pageIds({ userId })).toEqual([])
      expect((await story.store.countFacets({ userId: 'ann' })).status).toEqual([
        { value: 'queued', count: 3 },
        { value: 'starting', count: 1 }
      ])
      expect((await story.store.countFacets({ userId: 'bob', scheduleId })).status).toEqual([
        { value: 'queued', count: 1 }
      ])
    })

    test('a page of large schedules ends earlier, small ones do not count', async () => {
      const { settings } = aStoredSchedule()
      const [template] = settings.jobs
      const large = { ...template!, args: { start_urls: 'x'.repeat(50_000) } }
      for (let count = 0; count < 3; count += 1)
        await put({ settings: { ...settings, name: `a ${count}`, jobs: [large] } })
      await put({ settings: { ...settings, name: 'b' } })
      const page = (maxBytes?: number) =>
        story.store.pageSchedules({}, { after: null, limit: 9, ...(maxBytes !== undefined && { maxBytes }) })
      const facts = ({ schedules, isCut, total }: Awaited<ReturnType<typeof page>>) => [schedules.length, isCut, total]
      expect(facts(await page())).toEqual([4, false, 4])
      expect(facts(await page(60_000))).toEqual([2, true, 4])
      expect(facts(await page(1))).toEqual([1, true, 4])
      expect(facts(await page(1_000_000))).toEqual([4, false, 4])
    })

    test('a page of firings has all that its filter names, whatever it names', async () => {
      const ids = [(await put()).id, (await put()).id]
      const states = ['fired', 'skipped', 'missed', 'failed'] as const
      const backfillId = 'b'.repeat(32)
      for (const nominalMs of [1, 2, 3, 4]) {
        const scheduled = ids.flatMap((scheduleId) =>
          states.map((state) => aNewFiring({ scheduleId, nominalMs, state }))
        )
        const filled = aNewFiring({ scheduleId: ids[0]!, nominalMs: 10 + nominalMs, origin: 'backfill', backfillId })
        await story.store.fire([...scheduled, filled])
      }
      const all = await story.store.listFirings({}, { before: null, limit: 100 })
      const asked = fc.record({
        scheduleId: fc.constantFrom(undefined, ...ids),
        backfillId: fc.constantFrom(undefined, undefined, backfillId),
        states: fc.subarray([...states]),
        before: fc.option(fc.integer({ min: 1, max: all.length + 2 })),
        limit: fc.integer({ min: 1, max: 12 })
      })
      const isAsked = <T>(wanted: T | undefined, value: T | null) => wanted === undefined || wanted === value
      await fc.assert(
        fc.asyncProperty(asked, async ({ before, limit, ...filter }) => {
          const wanted = all.filter(
            (one) =>
              isAsked(filter.scheduleId, one.scheduleId) &&
              isAsked(filter.backfillId, one.backfillId) &&
              (filter.states.length === 0 || filter.states.includes(one.state)) &&
              one.id < (before ?? Number.POSITIVE_INFINITY)
          )
          expect(await story.store.listFirings(filter, { before, limit })).toEqual(wanted.slice(0, limit))
        })
      )
    })

    test('schedules are found by the user of their jobs and by the crawl order that created them', async () => {
      const { settings } = aStoredSchedule()
      const [template] = settings.jobs
      const users = (...ids: (string | null)[]) => ({
        settings: { ...settings, jobs: ids.map((userId) => ({ ...template!, userId })) }
      })
      const ann = await put({ ...users(null, 'ann'), crawl: { key: 'k1', params: { pages: 3, tags: null }, atMs: 5 } })
      const bob = await put(users('bob'))
      const ids = async (filter: Parameters<typeof story.store.pageSchedules>[0]) =>
        (await story.store.pageSchedules(filter, { after: null, limit: 9 })).schedules.map(({ id }) => id)
      expect(await ids({ userId: 'ann' })).toEqual([ann.id])
      expect(await ids({ userId: 'bob' })).toEqual([bob.id])
      expect(await ids({ userId: 'b' })).toEqual([])
      expect(await ids({ crawlKey: 'k1' })).toEqual([ann.id])
      expect(await ids({ isCrawl: true })).toEqual([ann.id])
      expect(await story.store.getSchedules([ann.id, bob.id])).toMatchObject([{ crawl: ann.crawl }, { crawl: null }])
      await story.store.putSchedule({ ...ann, revision: 2, crawl: { key: 'k2', params: {}, atMs: null } })
      expect([await ids({ crawlKey: 'k1' }), await ids({ crawlKey: 'k2' })]).toEqual([[], [ann.id]])
    })
  })
}
