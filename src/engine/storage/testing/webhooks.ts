import { describe, expect, test } from 'vitest'
import { RunTemplate, ScheduleSettings, SECRET_MASK } from '../../../shared/contract/index.ts'
import { aProjectName, aScheduleId, aWebhookId } from '../../../shared/testing/ids.ts'
import { say } from '../../../shared/texts/message.ts'
import { aNewJob, anAttemptStart, aRetention, entry } from '../../testing/builders.ts'
import type { AnswerClaim, NewFiring, NewWebhook, StoredDelivery } from '../../model/records.ts'
import type { Story } from './story.ts'
import { asSealedText } from '../../runtime/secret-box.ts'

const LATER_MS = 9_000_000_000_000

export function describeWebhooks(story: Story): void {
  const { enqueue, begin, end, change } = story

  async function putWebhook(over: Partial<NewWebhook> = {}): Promise<string> {
    const id = over.id ?? 'a'.repeat(32)
    await story.store.putWebhook({
      id: aWebhookId(id),
      kind: 'webhook',
      name: 'ours',
      url: 'https://example.org/hook',
      events: ['job.queued', 'job.started', 'job.ended'],
      project: null,
      enabled: true,
      createdAtMs: 5,
      sealedSecret: asSealedText('sealed'),
      sealedOldSecret: null,
      oldSecretUntilMs: null,
      ...over
    })
    return id
  }

  const due = async () => (await story.store.listDueDeliveries(LATER_MS, 100)).deliveries
  const events = (deliveries: StoredDelivery[]) => deliveries.map(({ event }) => event)
  const bodyOf = (delivery: StoredDelivery | undefined) => JSON.parse(delivery!.body)
  const webhook = async (id = 'a'.repeat(32)) => (await story.store.listWebhooks()).find((one) => one.id === id)
  const tried = (delivery: StoredDelivery, state: StoredDelivery['state'], over = {}) =>
    story.store.concludeTries([
      { id: delivery.id, state, atMs: 50, nextTryAtMs: state === 'waiting' ? 60 : null, answer: '500', ...over }
    ])

  describe('webhooks', () => {
    test('a webhook gets an event when a job is queued, starts and ends, each once and with the job as it was then', async () => {
      await putWebhook()
      const job = await enqueue()
      await begin(job)
      await story.store.applyChanges([change(job, { to: 'accepted', kind: 'accepted' })])
      for (let times = 0; times < 2; times += 1) {
        await story.store.applyChanges([change(job, { from: ['accepted'], to: 'running', kind: 'running' })])
      }
      await end(job, { result: 'failed', killingLine: 'it broke' })
      await end(job)
      const deliveries = await due()
      expect(events(deliveries)).toEqual(['job.queued', 'job.started', 'job.ended'])
      expect(new Set(deliveries.map(({ id }) => id)).size).toBe(3)
      expect(deliveries.map((one) => [bodyOf(one).type, bodyOf(one).data.job.id, bodyOf(one).data.job.status])).toEqual(
        [
          ['job.queued', job.id, 'queued'],
          ['job.started', job.id, 'running'],
          ['job.ended', job.id, 'failed']
        ]
      )
      expect(bodyOf(deliveries[0]).timestamp).toBe(new Date(job.entry.atMs).toISOString())
      expect(await webhook()).toMatchObject({ waiting: 3, dead: 0 })
    })

    test('every end of a job is sent: cancelled while queued, skipped with what it waited for, expired', async () => {
      await putWebhook({ events: ['job.ended'] })
      const first = await enqueue()
      const behind = await enqueue({ after: [{ jobId: first.id, on: 'succeeded' }] })
      const late = await enqueue({ expiresAtMs: 7 })
      await story.store.cancelQueued([first.id], entry())
      await story.store.releaseDue(LATER_MS, 100)
      const ids = (await due()).map((one) => bodyOf(one).data.job.id)
      expect(ids.sort()).toEqual([first.id, behind.id, late.id].sort())
    })

    test('a job that goes back to the queue has not ended', async () => {
      await putWebhook({ events: ['job.ended'] })
      const job = await enqueue()
      await begin(job)
      await end(job, { result: 'failed', jobOutcome: null })
      expect(await due()).toEqual([])
    })

    test('secret values are never sent', async () => {
      await putWebhook()
      await enqueue({ args: { token: 'sealed-value', page: '1' }, secretNames: ['token'] })
      expect(bodyOf((await due())[0]).data.job.args).toEqual({ token: SECRET_MASK, page: '1' })
    })

    test('a failed write sends nothing: its events are rolled back with it', async () => {
      await putWebhook()
      const job = await enqueue()
      await expect(story.store.enqueueJobs([aNewJob(), job])).rejects.toThrow()
      expect((await due()).length).toBe(1)
      expect(await webhook()).toMatchObject({ waiting: 1 })
    })

    test('events go only to enabled webhooks that want the event and the project', async () => {
      await putWebhook({ id: aWebhookId('1'.repeat(32)), events: ['job.ended'] })
      await putWebhook({ id: aWebhookId('2'.repeat(32)), project: aProjectName('books') })
      await putWebhook({ id: aWebhookId('3'.repeat(32)), enabled: false })
      await putWebhook({ id: aWebhookId('4'.repeat(32)), project: aProjectName('shop') })
      await enqueue()
      expect((await due()).map(({ webhookId }) => webhookId)).toEqual(['4'.repeat(32)])
    })

    test("another server's history is no news, a run that goes on is", async () => {
      await putWebhook()
      const record = async (to: 'ended' | 'running') => {
        const job = aNewJob()
        const result = to === 'ended' ? { result: 'succeeded' as const } : {}
        await story.store.recordRuns([
          { job, start: anAttemptStart(job), changes: [change(job, { to, kind: to, ...result })] }
        ])
      }
      await record('ended')
      expect(await due()).toEqual([])
      await record('running')
      expect(events(await due())).toEqual(['job.started'])
    })

    test('firings and pauses of schedules are sent, firings that a policy skips are not', async () => {
      await putWebhook({
        events: ['schedule.fired', 'schedule.missed', 'schedule.paused'],
        project: aProjectName('shop')
      })
      const settings = ScheduleSettings.parse({
        name: 'daily',
        zone: 'UTC',
        rules: [{ kind: 'cron', expression: '0 3 * * *' }],
        jobs: [RunTemplate.parse({ project: 'books', spiders: ['a'] }), { project: 'shop', spiders: ['b'] }]
      })
      const id = aScheduleId('5'.repeat(32))
      const schedule = {
        id,
        settings,
        paused: false,
        pauseNote: null,
        pausedBy: null,
        createdAtMs: 1,
        changedAtMs: 1,
        movedAtMs: 0,
        doneUntilMs: 1,
        runCount: 0,
        failuresInARow: 0,
        crawl: null
      }
      await story.store.putSchedule({ ...schedule, revision: 1 })
      const firing: Omit<NewFiring, 'state' | 'nominalMs'> = {
        scheduleId: id,
        origin: 'tick',
        atMs: 10,
        reason: 'on_time',
        message: say('firing.on_time'),
        count: 1,
        backfillId: null,
        jobs: [],
        doneUntilMs: null
      }
      const states = ['fired', 'skipped', 'missed', 'failed'] as const
      await story.store.fire(states.map((state, index) => ({ ...firing, state, nominalMs: index })))
      await story.store.fire([{ ...firing, state: 'fired', nominalMs: 0 }])
      for (const revision of [2, 3]) {
        await story.store.putSchedule({ ...schedule, revision, paused: true, pausedBy: 'operator', pauseNote: 'why' })
      }
      const deliveries = await due()
      expect(events(deliveries).sort()).toEqual([
        'schedule.fired',
        'schedule.missed',
        'schedule.missed',
        'schedule.paused'
      ])
      expect(bodyOf(deliveries.find(({ event }) => event === 'schedule.paused'))).toMatchObject({
        data: { schedule: { id, name: 'daily' }, pausedBy: 'operator', note: 'why' }
      })
    })

    test('events about things outside the store are sent on request', async () => {
      await putWebhook({ events: ['node.down'] })
      const data = { node: { id: 'n1' } }
      await story.store.recordEvents([
        { event: 'node.down', project: null, atMs: 7, data },
        { event: 'node.up', project: null, atMs: 8, data }
      ])
      expect(bodyOf((await due())[0])).toEqual({ type: 'node.down', timestamp: '1970-01-01T00:00:00.007Z', data })
    })

    test('a delivery that is to be tried later is due later, and keeps its id; one that is delivered is due no more', async () => {
      await putWebhook({ events: ['job.queued'] })
      for (let count = 0; count < 2; count += 1) await enqueue()
      const [first, second] = await due()
      await tried(first!, 'waiting', { nextTryAtMs: LATER_MS + 5 })
      await tried(second!, 'delivered')
      expect(await story.store.listDueDeliveries(LATER_MS, 10)).toEqual({ deliveries: [], nextDueMs: LATER_MS + 5 })
      const [again] = (await story.store.listDueDeliveries(LATER_MS + 5, 10)).deliveries
      expect(again).toEqual({ ...first!, tries: 1, nextTryAtMs: LATER_MS + 5, answer: '500' })
      expect(await webhook()).toMatchObject({ waiting: 1, lastDeliveredAtMs: 50, problem: null })
    })

    test('dead ones are listed by state, newest first by pages, and can be replayed, all or some', async () => {
      const id = await putWebhook({ events: ['job.queued'] })
      for (let count = 0; count < 4; count += 1) await enqueue()
      const [one, two, three] = await due()
      for (const delivery of [one, two, three]) await tried(delivery!, 'dead')
      expect(await webhook()).toMatchObject({ waiting: 1, dead: 3, problem: '500' })
      const list = async (before: string | null, limit: number) =>
        (await story.store.listDeliveries(aWebhookId(id), { state: 'dead', before, limit })).map(
          (delivery) => delivery.id
        )
      expect(await list(null, 2)).toEqual([three!.id, two!.id])
      expect(await list(two!.id, 2)).toEqual([one!.id])
      expect((await story.store.listDeliveries(aWebhookId(id), { before: null, limit: 9 })).length).toBe(4)
      expect(await story.store.replayDeliveries(aWebhookId(id), [one!.id, one!.id, 'nonsense'], 70)).toBe(1)
      expect(await story.store.replayDeliveries(aWebhookId(id), [], 70)).toBe(2)
      expect(await webhook()).toMatchObject({ waiting: 4, dead: 0 })
      expect((await due())[0]).toMatchObject({ id: one!.id, tries: 0, state: 'waiting', endedAtMs: null })
    })

    test("another webhook's deliveries cannot be replayed", async () => {
      const id = await putWebhook({ events: ['job.queued'] })
      const other = await putWebhook({ id: aWebhookId('b'.repeat(32)), events: ['job.ended'] })
      await enqueue()
      const [delivery] = await due()
      await tried(delivery!, 'dead')
      expect(await story.store.replayDeliveries(aWebhookId(other), [delivery!.id], 70)).toBe(0)
      expect(await webhook(id)).toMatchObject({ dead: 1 })
    })

    test('a receiver that is gone is turned off', async () => {
      await putWebhook()
      await enqueue()
      await tried((await due())[0]!, 'dead', { answer: '410', isGone: true })
      expect(await webhook()).toMatchObject({ enabled: false, problem: '410', dead: 1 })
    })

    test('what is changed keeps what waits, what is removed takes it along', async () => {
      const id = await putWebhook()
      await enqueue()
      await putWebhook({ name: 'renamed', enabled: false })
      expect([await webhook(), await due()]).toMatchObject([{ name: 'renamed', waiting: 1 }, []])
      await putWebhook({ name: 'renamed' })
      const [delivery] = await due()
      expect([
        await story.store.deleteWebhook(aWebhookId(id)),
        await story.store.deleteWebhook(aWebhookId(id))
      ]).toEqual([true, false])
      await tried(delivery!, 'delivered')
      expect([await story.store.listWebhooks(), await due()]).toEqual([[], []])
    })

    test('what ended long ago is forgotten, what waits is not', async () => {
      const id = await putWebhook({ events: ['job.queued'] })
      for (let count = 0; count < 5; count += 1) await enqueue()
      const [good, bad, lateGood, lateBad] = await due()
      await tried(good!, 'delivered')
      await tried(bad!, 'dead')
      await tried(lateGood!, 'delivered', { atMs: 200 })
      await tried(lateBad!, 'dead', { atMs: 200 })
      const { deliveries } = aRetention()
      const retention = aRetention({ deliveries: { ...deliveries, deliveredSinceMs: 100, deadSinceMs: 100 } })
      expect([await story.store.prune(retention, 1), await story.store.prune(retention, 9)]).toEqual([1, 1])
      const left = await story.store.listDeliveries(aWebhookId(id), { before: null, limit: 9 })
      expect(left.map(({ state }) => state)).toEqual(['waiting', 'dead', 'delivered'])
      expect(await webhook()).toMatchObject({ waiting: 1, dead: 1 })
    })

    test('of what ended each webhook keeps so many, the newest, and of what is replayed meanwhile none too few', async () => {
      const [id, other] = [
        await putWebhook({ events: ['job.queued'] }),
        await putWebhook({ id: aWebhookId('other'), name: 'other' })
      ]
      for (let count = 0; count < 7; count += 1) await enqueue()
      const mine = (await due()).filter(({ webhookId }) => webhookId === id)
      for (const [index, delivery] of mine.slice(0, 6).entries()) {
        await tried(delivery, index % 2 === 0 ? 'delivered' : 'dead')
      }
      const { deliveries } = aRetention()
      const retention = aRetention({ deliveries: { ...deliveries, newest: 2 } })
      expect([await story.store.prune(retention, 1), await story.store.prune(retention, 9)]).toEqual([1, 1])
      const left = async () =>
        (await story.store.listDeliveries(aWebhookId(id), { before: null, limit: 9 })).map((one) => one.id)
      expect(await left()).toEqual([6, 5, 4, 3, 2].map((index) => mine[index]!.id))
      await story.store.replayDeliveries(aWebhookId(id), [mine[2]!.id, mine[3]!.id], 0)
      expect(await story.store.prune(retention, 9)).toBe(0)
      const webhooks = await story.store.listWebhooks()
      expect(webhooks.map(({ waiting, dead }) => [waiting, dead])).toEqual(
        webhooks.map((webhook) => (webhook.id === other ? [7, 0] : [3, 1]))
      )
    })

    test('answers to requests with a key are forgotten when their time is over, not before', async () => {
      const many = { count: 100, bytes: 1_000 }
      const claim = { scope: 'ada', fingerprint: 'f', begunBy: 'run', nowMs: 0, quota: { ofScope: many, ofAll: many } }
      for (const at of [10, 20, 30]) await story.store.claimAnswer({ ...claim, key: `k${at}`, expiresAtMs: at })
      expect([await story.store.prune({ ...aRetention(), nowMs: 20 }, 9)]).toEqual([2])
      expect(await story.store.claimAnswer({ ...claim, key: 'k30', expiresAtMs: 30 })).toMatchObject({ begunBy: 'run' })
    })

    test('answers beyond a quota are forgotten, the oldest of the same scope first', async () => {
      let at = 0
      const claim = (scope: string, key: string, quota: Partial<AnswerClaim['quota']> = {}) =>
        story.store.claimAnswer({
          scope,
          key,
          fingerprint: 'f',
          begunBy: 'run',
          nowMs: 0,
          expiresAtMs: 1_000 + (at += 1),
          quota: { ofScope: { count: 3, bytes: 100 }, ofAll: { count: 5, bytes: 150 }, ...quota }
        })
      const isKept = async (scope: string, key: string) => {
        const roomy = { count: 1_000, bytes: 10_000 }
        const earlier = await claim(scope, key, { ofScope: roomy, ofAll: roomy })
        if (earlier === null) await story.store.keepAnswer(scope, key, null)
        return earlier !== null
      }
      for (const key of ['a1', 'a2', 'a3']) await claim('ada', key)
      await claim('bob', 'b1')
      await claim('ada', 'a4')
      expect([await isKept('ada', 'a1'), await isKept('ada', 'a2'), await isKept('bob', 'b1')]).toEqual([
        false,
        true,
        true
      ])
      // The total size is also limited. A released response does not count.
      await story.store.keepAnswer('ada', 'a3', asSealedText('x'.repeat(90)))
      await story.store.keepAnswer('ada', 'a4', asSealedText('x'.repeat(20)))
      await claim('ada', 'a5')
      expect([await isKept('ada', 'a3'), await isKept('ada', 'a4')]).toEqual([false, true])
      // All users together are also limited: the oldest response of any user is deleted.
      await claim('bob', 'b2')
      await claim('cy', 'c1')
      await claim('cy', 'c2')
      expect([await isKept('bob', 'b1'), await isKept('cy', 'c2')]).toEqual([false, true])
      await story.reopen()
      await claim('ada', 'a6')
      await claim('ada', 'a7')
      expect(await isKept('ada', 'a4')).toBe(false)
    })

    test('deliveries outlive the engine', async () => {
      await putWebhook()
      await enqueue()
      const before = await due()
      await story.reopen()
      expect(await due()).toEqual(before)
    })
  })
}
