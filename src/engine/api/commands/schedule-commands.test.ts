import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Backfill, RunTemplate, SECRET_MASK, ScheduleSettings } from '../../../shared/contract/index.ts'
import { anAttemptNumber, aScheduleId } from '../../../shared/testing/ids.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { aNewFiring, aNewJob, aStoredNode, anAttemptStart, entry } from '../../testing/builders.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { openTemporaryStore, type TemporaryStore } from '../../testing/temporary-store.ts'
import { ScheduleCommands, type SchedulerControl } from './schedule-commands.ts'
import { ScheduleReads, type SchedulerOutlook } from './schedule-reads.ts'
import { asSealedText } from '../../runtime/secret-box.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

let clock: FakeClock
let temporary: TemporaryStore
let commands: ScheduleCommands
let reads: ScheduleReads
let told: string[]
let next: { nextAtMs: number; nextNominalMs: number } | null

beforeEach(async () => {
  clock = createFakeClock()
  temporary = await openTemporaryStore({ clock, inMemory: true })
  told = []
  next = null
  const scheduler: SchedulerControl & SchedulerOutlook = {
    refresh: async (id) => void told.push(`changed ${id}`),
    writePaused: async () => undefined,
    nextOf: () => next,
    backfillOf: () => null,
    runNow: async (scheduleId) => {
      const fired = await temporary.store.fire([aNewFiring({ scheduleId, origin: 'manual', reason: 'run_now' })])
      return fired[0]!
    },
    planBackfill: async () => ({ count: 3, jobs: 3, alreadyRun: 0, forgotten: 0, first: [], last: [] }),
    backfill: async () => ({}) as Backfill,
    cancelBackfill: async () => ({}) as Backfill
  }
  reads = new ScheduleReads({ store: temporary.store, scheduler, clock, slots: () => 8 })
  commands = new ScheduleCommands({
    store: temporary.store,
    scheduler,
    fleet: { get: (id) => (id === 'n-1' ? ({ stored: aStoredNode({ id }) } as FleetNode) : undefined) },
    secretBox: { seal: async (text) => asSealedText(`sealed(${text})`) },
    clock,
    random: createSeededRandom(1),
    reads,
    onChange: () => undefined
  })
})

afterEach(() => temporary.remove())

const settings = (over: Partial<ScheduleSettings> = {}): ScheduleSettings =>
  ScheduleSettings.parse({
    name: 'nightly',
    zone: 'UTC',
    rules: [{ kind: 'cron', expression: '0 3 * * *' }],
    jobs: [{ project: 'shop', spiders: ['prices'] }],
    ...over
  })
const template = (over: object) => ({ ...settings().jobs[0]!, ...over })
const stored = async (id: string) => (await temporary.store.getSchedules([aScheduleId(id)]))[0]!

describe('a schedule', () => {
  it('is created, reported to the ticker, and shown with its next time and its newest firings', async () => {
    next = { nextAtMs: 5_000, nextNominalMs: 4_000 }
    const made = await commands.create(settings())
    expect(told).toEqual([`changed ${made.id}`])
    expect(made).toMatchObject({ ...settings(), revision: 1, paused: false, ...next, recent: [], backfill: null })
    expect((await stored(made.id)).doneUntilMs).toBe(clock.nowMs())
    const firing = await commands.runNow(made.id)
    expect((await reads.get(made.id)).recent).toEqual([firing])
  })

  it('has a unique name: another one with the same name is refused, or replaces its settings on request', async () => {
    const made = await commands.create(settings())
    const taken = { code: 'SCHEDULE_NAME_TAKEN', message: expect.stringContaining('--replace') }
    await expect(commands.create(settings())).rejects.toMatchObject(taken)
    const [one, other] = await Promise.allSettled([0, 1].map(() => commands.create(settings({ name: 'at once' }))))
    expect([one!.status, other!.status].sort()).toEqual(['fulfilled', 'rejected'])
    const capital = await commands.create(settings({ name: 'Nightly' }))
    await expect(commands.update(capital.id, settings())).rejects.toMatchObject(taken)
    expect(await commands.update(capital.id, settings({ name: 'Nightly', zone: 'Europe/Berlin' }))).toMatchObject({
      zone: 'Europe/Berlin'
    })

    await commands.setPaused([made.id], true, 'holiday')
    const replaced = await commands.create(settings({ zone: 'Europe/Paris' }), { namesake: 'replace' })
    expect(replaced).toMatchObject({ id: made.id, zone: 'Europe/Paris', paused: true, pauseNote: 'holiday' })
    expect(await commands.create(settings({ name: 'new' }), { namesake: 'replace' })).toMatchObject({ revision: 1 })
    expect((await reads.list({ limit: 10 })).total).toBe(4)
  })

  it('does not delay others while its templates are checked for a long time', async () => {
    const order: string[] = []
    const note = ({ name }: { name: string }) => void order.push(name)
    const heavy = (name: string) => settings({ name, jobs: Array.from({ length: 50 }, () => template({})) })
    const made = await commands.create(settings({ name: 'changed' }))
    await Promise.all([
      commands.create(heavy('heavy')).then(note),
      commands.update(made.id, heavy('changed')).then(note),
      commands.create(settings({ name: 'light' })).then(note)
    ])
    expect(order[0]).toBe('light')
  })

  it('that already shares its name can be changed, but is neither renamed nor replaced', async () => {
    const one = await commands.create(settings())
    const [before] = await temporary.store.getSchedules([one.id])
    await temporary.store.putSchedule({ ...before!, id: aScheduleId('b'.repeat(32)), revision: 1 })
    await expect(commands.create(settings(), { namesake: 'replace' })).rejects.toMatchObject({
      code: 'SCHEDULE_NAME_TAKEN',
      message: expect.stringContaining('Rename or remove all but one')
    })
    await commands.update(one.id, settings({ zone: 'Europe/Paris' }))
    const same = await temporary.store.pageSchedules({ hasNamesake: true }, { after: null, limit: 10 })
    expect([same.total, same.schedules.map(({ settings: { name } }) => name)]).toEqual([2, ['nightly', 'nightly']])
    await commands.update(one.id, settings({ name: 'other' }))
    expect((await temporary.store.pageSchedules({ hasNamesake: true }, { after: null, limit: 10 })).total).toBe(0)
  })

  it('is listed page by page, even if the last one of a page was removed meanwhile', async () => {
    for (const name of ['a', 'b', 'ç', 'd']) await commands.create(settings({ name }))
    const first = await reads.list({ limit: 2 })
    expect(first).toMatchObject({ total: 4, nextAfter: expect.stringMatching(/^[\w-]+$/) })
    await commands.remove([first.schedules[1]!.id])
    const rest = await reads.list({ limit: 2, after: first.nextAfter! })
    expect(rest).toMatchObject({ total: 3, nextAfter: null, schedules: [{ name: 'd' }, { name: 'ç' }] })
    for (const after of ['', 'nonsense', first.schedules[0]!.id, Buffer.from('["a"]').toString('base64url')]) {
      await expect(reads.list({ limit: 2, after })).rejects.toMatchObject({ code: 'BAD_INPUT' })
    }
  })

  it('is listed with the requested number of firings; a page is shorter if they are many', async () => {
    for (let count = 0; count < 102; count += 1) await commands.create(settings({ name: `s ${count}` }))
    const { schedules } = await reads.list({ limit: 500, recent: 1 })
    await commands.runNow(schedules[0]!.id)
    await commands.runNow(schedules[0]!.id)
    const recentOf = async (recent: number) => (await reads.list({ limit: 1, recent })).schedules[0]!.recent.length
    expect([await recentOf(0), await recentOf(1), await recentOf(30)]).toEqual([0, 1, 2])
    const page = await reads.list({ limit: 500 })
    expect([schedules.length, page.schedules.length, page.nextAfter !== null]).toEqual([102, 100, true])
    const rest = await reads.list({ limit: 500, after: page.nextAfter! })
    expect([rest.schedules.length, rest.nextAfter]).toEqual([2, null])
    const ids = schedules.map(({ id }) => id)
    expect(await commands.remove([...ids, ids[0]!])).toEqual(ids)
    expect((await reads.list({ limit: 1 })).total).toBe(0)
  })

  it('is refused with an explanation if its rules, arguments or node are invalid', async () => {
    const rules = [{ kind: 'cron' as const, expression: '0 25 * * *' }]
    await expect(commands.create(settings({ rules }))).rejects.toMatchObject({ code: 'BAD_INPUT' })
    await expect(commands.create(settings({ zone: 'Mars/Olympus' }))).rejects.toMatchObject({ code: 'BAD_INPUT' })
    const of = (over: object) => commands.create(settings({ jobs: [template(over)] }))
    await expect(of({ args: { day: '{yesterday}' } })).rejects.toMatchObject({ code: 'BAD_INPUT' })
    await expect(of({ args: { _job: '1' } })).rejects.toMatchObject({ code: 'ARGUMENT_RESERVED' })
    await expect(of({ spiders: ['a/b'] })).rejects.toMatchObject({ code: 'BAD_INPUT' })
    await expect(of({ nodeId: 'n-9' })).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' })
    expect(await temporary.store.listSchedules()).toEqual([])
  })

  it('is replaced as a whole; an update with an old revision is refused', async () => {
    const { id, revision } = await commands.create(settings())
    const changed = await commands.update(id, settings({ name: 'daily' }), revision)
    expect(changed).toMatchObject({ name: 'daily', revision: 2 })
    await expect(commands.update(id, settings(), revision)).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' })
    expect((await commands.update(id, settings({ name: 'weekly' }))).revision).toBe(3)
    await expect(commands.update(aScheduleId('f'.repeat(32)), settings())).rejects.toMatchObject({
      code: 'SCHEDULE_NOT_FOUND'
    })
  })

  it('starts now with other rules, but continues where it was with another name', async () => {
    const { id } = await commands.create(settings())
    const madeAtMs = clock.nowMs()
    await clock.advanceBy(HOUR_MS)
    await commands.update(id, settings({ name: 'other' }))
    expect((await stored(id)).doneUntilMs).toBe(madeAtMs)
    await commands.update(id, settings({ rules: [{ kind: 'cron', expression: '* * * * *' }] }))
    expect((await stored(id)).doneUntilMs).toBe(madeAtMs + HOUR_MS)
  })

  it('keeps a time that waits for its jitter if the new rules have it too', async () => {
    const { id } = await commands.create(settings({ jitterSeconds: 600 }))
    await clock.advanceBy(HOUR_MS)
    const nominalMs = Math.floor(clock.nowMs() / MINUTE_MS) * MINUTE_MS
    next = { nextNominalMs: nominalMs, nextAtMs: nominalMs + 300_000 }
    await clock.advanceBy(1_000)
    await commands.update(id, settings({ rules: [{ kind: 'cron', expression: '* * * * *' }] }))
    expect((await stored(id)).doneUntilMs).toBe(nominalMs - 1)
  })

  it('is paused with a note and resumed; of many at once, all or none', async () => {
    const [one, other] = [await commands.create(settings()), await commands.create(settings({ name: 'b' }))]
    const paused = await commands.setPaused([one.id, other.id], true, 'the shop moves')
    expect(paused.map(({ paused, pauseNote, pausedBy, nextAtMs }) => [paused, pauseNote, pausedBy, nextAtMs])).toEqual([
      [true, 'the shop moves', 'operator', null],
      [true, 'the shop moves', 'operator', null]
    ])
    await expect(commands.setPaused([one.id, aScheduleId('f'.repeat(32))], false, null)).rejects.toMatchObject({
      code: 'SCHEDULE_NOT_FOUND'
    })
    expect((await stored(one.id)).paused).toBe(true)
    const [resumed] = await commands.setPaused([one.id], false, null)
    expect(resumed).toMatchObject({ paused: false, pauseNote: null, pausedBy: null, failuresInARow: 0 })
  })

  it('forgets the note of its former projects when it moves to others, and records when it moved', async () => {
    const { id } = await commands.create(settings())
    await commands.setPaused([id], true, 'a word for those of shop')
    const before = await stored(id)
    await commands.update(id, settings({ name: 'renamed' }))
    expect(await stored(id)).toMatchObject({ movedAtMs: 0, pauseNote: before.pauseNote })
    // The firing is later than the clock, as if the clock had been set back since.
    const laterMs = clock.nowMs() + HOUR_MS
    await temporary.store.fire([aNewFiring({ scheduleId: id, atMs: laterMs, state: 'failed', reason: 'refused' })])
    await commands.update(id, settings({ jobs: [RunTemplate.parse({ project: 'news', spiders: ['a'] })] }))
    expect(await stored(id)).toMatchObject({ movedAtMs: laterMs, pauseNote: null, paused: true })
  })

  it('that is over cannot continue until it gets more runs or a later end', async () => {
    const { id } = await commands.create(settings({ maxRuns: 1 }))
    await temporary.store.fire([aNewFiring({ scheduleId: id, jobs: [aNewJob()] })])
    await commands.setPaused([id], true, null)
    await expect(commands.setPaused([id], false, null)).rejects.toThrow('its limit of 1 runs')
    await commands.update(id, settings({ maxRuns: 2 }))
    expect((await commands.setPaused([id], false, null))[0]?.paused).toBe(false)
    const ended = await commands.create(settings({ name: 'until then', endMs: clock.nowMs() + HOUR_MS * 48 }))
    await clock.advanceBy(HOUR_MS * 49)
    await expect(commands.setPaused([ended.id], false, null)).rejects.toThrow('its end date has passed')
  })

  it('is removed with its history', async () => {
    const { id } = await commands.create(settings())
    expect(await commands.remove([id, aScheduleId('f'.repeat(32))])).toEqual([id])
    expect(told).toEqual([`changed ${id}`, `changed ${id}`])
    await expect(reads.get(id)).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
  })
})

describe('secret values of a schedule', () => {
  const secret = (token: string, spider = 'prices') =>
    template({ spiders: [spider], args: { token }, secretNames: ['token'] })

  it('are encrypted at rest and never shown', async () => {
    const made = await commands.create(settings({ jobs: [secret('abc')] }))
    expect(JSON.stringify(await stored(made.id))).toContain('sealed(abc)')
    expect(made.jobs[0]?.args).toEqual({ token: SECRET_MASK })
    expect(JSON.stringify((await reads.list({ limit: 9 })).schedules)).not.toContain('abc')
  })

  it('keep their values in any position if they come back masked', async () => {
    const { id } = await commands.create(settings({ jobs: [secret('one'), secret('two', 'stock')] }))
    const moved = settings({ jobs: [secret(SECRET_MASK, 'stock'), secret('three')] })
    await commands.update(id, moved)
    expect((await stored(id)).settings.jobs.map(({ args }) => args['token'])).toEqual(['sealed(two)', 'sealed(three)'])
  })
})

describe('the result of firings', () => {
  it('is the worst of their jobs, and lasts from the first start to the last end', async () => {
    const { id } = await commands.create(settings())
    const jobs = [aNewJob(), aNewJob()]
    await temporary.store.fire([aNewFiring({ scheduleId: id, jobs })])
    const outcome = async () => (await reads.get(id)).recent[0]!
    expect(await outcome()).toMatchObject({ outcome: 'live', durationMs: null })
    for (const [index, job] of jobs.entries()) {
      await temporary.store.beginAttempts([anAttemptStart(job)])
      const of = {
        jobId: job.id,
        attemptNumber: anAttemptNumber(1),
        from: ['sending', 'running'] as ('sending' | 'running')[]
      }
      const startedAtMs = 1_000 + index * 500
      const started = { ...of, to: 'running', kind: 'running', details: { startedAtMs }, entry: entry() } as const
      const at = entry('over', { atMs: startedAtMs + 2_000 })
      const result = index === 0 ? ('failed' as const) : ('succeeded' as const)
      await temporary.store.applyChanges([started])
      await temporary.store.applyChanges([{ ...of, to: 'ended', kind: 'ended', result, jobOutcome: result, entry: at }])
    }
    expect(await outcome()).toMatchObject({ outcome: 'failed', durationMs: 2_500 })
  })

  it('is paged newest first, and missed ones can be listed alone', async () => {
    const { id } = await commands.create(settings())
    await temporary.store.fire(
      [1, 2, 3, 4].map((nominalMs) => {
        const missed = { state: 'missed', reason: 'out_of_window' } as const
        return aNewFiring({ scheduleId: id, nominalMs, ...(nominalMs % 2 === 0 ? missed : {}) })
      })
    )
    const first = await reads.firings({ state: ['missed'], limit: 1 })
    expect(first.firings.map(({ nominalMs }) => nominalMs)).toEqual([4])
    const rest = await reads.firings({ state: ['missed'], limit: 1, before: first.nextBefore! })
    expect([rest.firings.map(({ nominalMs }) => nominalMs), rest.nextBefore]).toEqual([[2], null])
  })
})

describe('a preview', () => {
  const fromMs = Date.UTC(2026, 10, 23)

  it('describes a timing without a schedule and its times, or says what is wrong with it', async () => {
    const { words, occurrences } = await reads.preview(settings(), { fromMs, count: 2 })
    expect(words).toContain('3')
    expect(occurrences.map(({ nominalMs }) => nominalMs)).toEqual([fromMs + 3 * HOUR_MS, fromMs + 27 * HOUR_MS])
    await expect(reads.preview(settings({ zone: 'nowhere' }), { count: 1 })).rejects.toThrow(/zone/i)
  })

  it('finds rare times with a limited amount of work, for any count and in any zone', async () => {
    const asked = vi.spyOn(Intl.DateTimeFormat.prototype as { format: unknown }, 'format', 'get')
    const rare = ['0 0 1 1 *', '0 0 29 2 *', '0 0 29 2 1'].flatMap((expression) => [
      [{ kind: 'cron' as const, expression }],
      Array.from({ length: 20 }, (_, minute) => ({
        kind: 'cron' as const,
        expression: expression.replace('0', String(minute))
      }))
    ])
    const halfYears = [{ kind: 'interval' as const, everySeconds: 182 * 86_400, anchorMs: 0 }]
    const zones = [
      'Asia/Gaza',
      'Asia/Beirut',
      'America/Nuuk',
      'Pacific/Easter',
      'America/Havana',
      'Asia/Hebron',
      'Africa/Cairo'
    ]
    for (const [index, rules] of [...rare, halfYears].entries()) {
      asked.mockClear()
      const { occurrences } = await reads.preview(settings({ rules, zone: zones[index]! }), { fromMs, count: 1_000 })
      expect(occurrences.length).toBeGreaterThanOrEqual(9)
      // A year in one zone needs some 150 calls.
      expect(asked.mock.calls.length, JSON.stringify(rules[0])).toBeLessThan(100 * 200)
    }
    const often = settings({ rules: [{ kind: 'cron', expression: '* * * * *' }], zone: 'Europe/Berlin' })
    expect((await reads.preview(often, { fromMs, count: 1_000 })).occurrences).toHaveLength(1_000)
  })

  it('lists the times of all schedules in order, so that one that fires each minute hides no other', async () => {
    const each = await commands.create(settings({ name: 'each', rules: [{ kind: 'cron', expression: '* * * * *' }] }))
    const nightly = await commands.create(settings())
    const paused = await commands.create(settings({ name: 'paused' }))
    await commands.setPaused([paused.id], true, null)
    const span = { fromMs: fromMs + 3 * HOUR_MS - MINUTE_MS, untilMs: fromMs + 3 * HOUR_MS + 2 * MINUTE_MS }
    const { moments, more } = await reads.calendar({ ...span, limit: 100 })
    expect(moments.map(({ atMs }) => (atMs - span.fromMs) / MINUTE_MS)).toEqual([0, 1, 1, 2])
    expect(new Set(moments.slice(1, 3).map(({ scheduleId }) => scheduleId))).toEqual(new Set([each.id, nightly.id]))
    expect(more).toBe(false)
    expect(await reads.calendar({ ...span, limit: 2 })).toEqual({ moments: moments.slice(0, 2), more: true })
  })

  it('counts firings and jobs per minute, with the slots', async () => {
    const argSets = [{ page: '1' }, { page: '2' }]
    await commands.create(settings())
    await commands.create(
      settings({ name: 'matrix', jobs: [template({ argSets, matrix: { country: ['de', 'fr', 'it'] } })] })
    )
    expect(await reads.load({ fromMs, untilMs: fromMs + 24 * HOUR_MS })).toEqual({
      slots: 8,
      minutes: [{ atMs: fromMs + 3 * HOUR_MS, firings: 2, jobs: 7 }]
    })
    const untilMs = fromMs + 46 * 24 * HOUR_MS
    await expect(reads.load({ fromMs, untilMs })).rejects.toMatchObject({ code: 'BAD_INPUT' })
    await expect(reads.planBackfill(aScheduleId('f'.repeat(32)), { fromMs, untilMs })).rejects.toMatchObject({
      code: 'SCHEDULE_NOT_FOUND'
    })
  })
})
