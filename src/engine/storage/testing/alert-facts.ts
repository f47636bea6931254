import { describe, expect, test } from 'vitest'
import { aProjectName, aWebhookId } from '../../../shared/testing/ids.ts'
import type { StoredAlertFact } from '../../model/records.ts'
import type { AlertFactStore, DigestStore } from '../store.ts'
import type { Story } from './story.ts'

const LATER_MS = 9_000_000_000_000
const CHANNEL = aWebhookId('a'.repeat(32))

const aFact = (key: string, atMs: number, value: number | null = 1, over = {}): StoredAlertFact => ({
  watch: 'node_down',
  key,
  value,
  sinceMs: atMs - 5,
  atMs,
  subject: key,
  text: `${key} is down`,
  labels: {
    project: aProjectName('shop'),
    spider: null,
    jobId: null,
    scheduleId: null,
    errorGroupId: null,
    nodeId: null,
    nodeTags: ['eu', 'fast']
  },
  ...over
})

export async function fillAlertFacts(store: AlertFactStore & DigestStore): Promise<void> {
  await store.recordAlertFacts([aFact('north', 10, 0.5), aFact('nörth "2"', 20), aFact('north', 30, null)])
  await store.sendDigest({ channelId: CHANNEL, settings: '{"every":"day"}', toldMs: LATER_MS }, null)
}

export function describeAlertFacts(story: Story): void {
  describe('the past of alerts', () => {
    const page = (fromMs: number, after: { atMs: number; id: number } | null, limit = 100) =>
      story.store.listAlertFacts('node_down', { fromMs, after, limit })

    test('facts are listed in the order of their times, page by page, as they were recorded', async () => {
      const facts = [aFact('north', 10), aFact('south', 10, 0), aFact('north', 20, null), aFact('north', 30, 0.5)]
      await story.store.recordAlertFacts([...facts, aFact('x', 15, 1, { watch: 'disk_free' })])
      expect((await page(0, null)).map(({ id: _id, ...fact }) => fact)).toEqual(facts)
      const [first, second] = await page(10, null, 2)
      expect([first!.key, second!.key]).toEqual(['north', 'south'])
      expect((await page(10, second!)).map(({ atMs }) => atMs)).toEqual([20, 30])
      expect((await page(11, null)).map(({ atMs }) => atMs)).toEqual([20, 30])
    })

    test('the newest of each key are listed, without what is gone', async () => {
      await story.store.recordAlertFacts([aFact('north', 10), aFact('south', 10), aFact('north', 20, 0)])
      await story.store.recordAlertFacts([aFact('south', 30, null), aFact('north', 5, 7, { watch: 'disk_free' })])
      const newest = await story.store.listNewestAlertFacts()
      expect(newest.map(({ watch, key, value }) => [watch, key, value])).toEqual([
        ['node_down', 'north', 0],
        ['disk_free', 'north', 7]
      ])
    })

    test('the oldest are deleted in steps: by age, and beyond a number', async () => {
      await story.store.recordAlertFacts([...Array(10).keys()].map((at) => aFact('north', at)))
      expect(await story.store.pruneAlertFacts(3, 100, 2)).toBe(2)
      expect(await story.store.pruneAlertFacts(3, 100, 2)).toBe(1)
      expect(await story.store.pruneAlertFacts(3, 100, 2)).toBe(0)
      expect(await story.store.pruneAlertFacts(0, 4, 2)).toBe(2)
      expect(await story.store.pruneAlertFacts(0, 4, 2)).toBe(1)
      expect((await page(0, null)).map(({ atMs }) => atMs)).toEqual([6, 7, 8, 9])
    })
  })

  describe('reports', () => {
    const putChannel = () =>
      story.store.putWebhook({
        id: CHANNEL,
        kind: 'channel',
        name: 'Team',
        url: '',
        events: [],
        project: null,
        enabled: true,
        createdAtMs: 5,
        sealedSecret: null,
        sealedOldSecret: null,
        oldSecretUntilMs: null,
        channel: {
          target: { kind: 'webhook', url: 'https://example.org/' },
          quiet: null,
          digest: { every: 'day', at: '08:00', zone: 'UTC', weekday: 1 }
        }
      })
    const tell = (toldMs: number, settings = 'a', data: unknown = { toldMs }) =>
      story.store.sendDigest({ channelId: CHANNEL, settings, toldMs }, data === null ? null : { atMs: toldMs, data })
    const bodies = async () =>
      (await story.store.listDueDeliveries(LATER_MS, 100)).deliveries.map(({ body }) => JSON.parse(body))

    test('each due time is recorded once, together with its message or not at all; other settings begin anew', async () => {
      await putChannel()
      expect((await story.store.listWebhooks())[0]!.channel?.digest).toMatchObject({ at: '08:00' })
      expect(await tell(10, 'a', null)).toBe(true)
      expect(await Promise.all([tell(20), tell(20)])).toEqual([true, false])
      expect(await tell(15)).toBe(false)
      expect(await tell(15, 'b')).toBe(true)
      expect(await bodies()).toMatchObject([
        { type: 'digest', data: { toldMs: 15 } },
        { type: 'digest', data: { toldMs: 20 } }
      ])
      expect(await story.store.listDigests()).toEqual([{ channelId: CHANNEL, settings: 'b', toldMs: 15 }])
      await story.store.deleteDigests([CHANNEL])
      expect(await story.store.listDigests()).toEqual([])
    })
  })
}
