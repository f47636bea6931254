import { rankOf } from '../../../shared/alert-watches.ts'
import { describe, expect, test } from 'vitest'
import type {
  AlertId,
  AlertRule,
  AlertRuleId,
  AlertSilence,
  AlertSilenceId,
  WebhookId
} from '../../../shared/contract/index.ts'
import { aProjectName, aWebhookId, branded, type Plain } from '../../../shared/testing/ids.ts'
import type { AlertPage, AlertWrite, NewWebhook, StoredAlertGroup, StoredEpisode } from '../../model/records.ts'
import type { AlertStore } from '../store.ts'
import type { Story } from './story.ts'

const LATER_MS = 9_000_000_000_000
const CHANNEL = 'c'.repeat(32)
const NEWEST = { before: null, limit: 100 }

const aRule = (id: string, over: Partial<Plain<AlertRule>> = {}): AlertRule =>
  branded({
    id,
    name: `Rule ${id}`,
    enabled: true,
    watch: 'node_down',
    comparison: 'at_least',
    threshold: 1.5,
    forSeconds: 60,
    severity: 'critical',
    owner: 'crawlers',
    channels: [CHANNEL],
    groupBy: 'node',
    gatherSeconds: 30,
    repeatSeconds: null,
    escalation: { afterSeconds: 600, channels: [CHANNEL] },
    project: null,
    spider: null,
    scheduleId: null,
    nodeId: null,
    nodeTag: 'eu',
    revision: 1,
    createdAtMs: 5,
    ...over
  })

const aSilence = (id: string, untilMs: number, repeats: AlertSilence['repeats'] = null): AlertSilence =>
  branded({
    id,
    ruleId: null,
    project: 'shop',
    spider: null,
    scheduleId: null,
    nodeId: null,
    nodeTag: null,
    fromMs: 1,
    untilMs,
    repeats,
    comment: 'maintenance',
    by: 'ada'
  })

function anEpisode(
  id: string,
  over: Partial<Plain<StoredEpisode>> = {},
  project: string | null = 'shop'
): StoredEpisode {
  const labels = {
    project,
    spider: 'prices',
    jobId: null,
    scheduleId: null,
    errorGroupId: null,
    nodeId: null,
    nodeTags: []
  }
  return branded({
    id,
    ruleId: 'r1',
    ruleName: 'Rule',
    severity: 'warning',
    owner: '',
    watch: 'spider_items',
    key: `${project}/prices`,
    value: 0,
    subject: 'shop/prices',
    text: 'has "no" items\0',
    labels,
    state: 'firing',
    sinceMs: 1,
    firedAtMs: 2,
    endedAtMs: null,
    resolvedAtMs: null,
    acknowledged: null,
    isEscalated: false,
    channels: { [CHANNEL]: { groupId: 'g1', isTold: true } },
    ...over
  })
}

const settled = (id: string, endedAtMs: number, over: Partial<Plain<StoredEpisode>> = {}, project?: string | null) =>
  anEpisode(id, { state: 'resolved', endedAtMs, resolvedAtMs: endedAtMs, channels: {}, ...over }, project)

const aGroup = (id: string, over: Partial<Plain<StoredAlertGroup>> = {}): StoredAlertGroup =>
  branded({ id, channelId: CHANNEL, ruleId: 'r1', lastToldAtMs: 7, flushAtMs: null, ...over })

const aWrite = (over: Partial<AlertWrite> = {}): AlertWrite => ({
  episodes: [],
  forgotten: [],
  groups: [],
  endedGroups: [],
  messages: [],
  ...over
})

const aMessage = (channelId = CHANNEL, atMs = 9): AlertWrite['messages'][number] => ({
  channelId: aWebhookId(channelId),
  atMs,
  data: { kind: 'news', title: 'shop/prices has no items' }
})

const idsOf = (episodes: readonly StoredEpisode[]) => episodes.map(({ id }) => id)

export async function fillAlerts(store: AlertStore): Promise<void> {
  for (const id of ['r1', 'r2']) await store.putAlertRule(aRule(id))
  await store.putSilence(aSilence('s', 900))
  await store.writeAlerts(
    aWrite({ episodes: [anEpisode('1'), settled('2', 9, {}, null)], groups: [aGroup('g1'), aGroup('g2')] })
  )
}

export function describeAlerts(story: Story): void {
  const putChannel = (over: Partial<NewWebhook> = {}) =>
    story.store.putWebhook({
      id: aWebhookId(CHANNEL),
      kind: 'channel',
      name: 'chat',
      url: '',
      events: [],
      project: null,
      enabled: true,
      createdAtMs: 5,
      sealedSecret: null,
      sealedOldSecret: null,
      oldSecretUntilMs: null,
      channel: { target: { kind: 'slack' }, quiet: { zone: 'UTC', from: '22:00', until: '07:00', days: [1] } },
      ...over
    })
  const due = async () => (await story.store.listDueDeliveries(LATER_MS, 100)).deliveries

  describe('alerts', () => {
    test('rules are kept in the order in which they were added, and a change must know the one before', async () => {
      const [first, second] = [aRule('b', { createdAtMs: 1 }), aRule('a', { createdAtMs: 2, escalation: null })]
      for (const rule of [second, first]) await story.store.putAlertRule(rule)
      const changed = { ...second, name: 'renamed', revision: 2 }
      await story.store.putAlertRule(changed)
      for (const revision of [1, 2, 4]) {
        await expect(story.store.putAlertRule({ ...second, revision })).rejects.toMatchObject({
          code: 'CHANGED_MEANWHILE'
        })
      }
      await story.reopen()
      expect(await story.store.listAlertRules()).toEqual([first, changed])
      const remove = (id: string) => story.store.deleteAlertRule(id as AlertRuleId)
      expect([await remove('b'), await remove('b')]).toEqual([true, false])
      expect(await story.store.listAlertRules()).toEqual([changed])
    })

    test('silences are kept and removed', async () => {
      const [long, short] = [aSilence('1', 900), aSilence('2', 100)]
      for (const one of [long, short]) await story.store.putSilence(one)
      await story.reopen()
      expect(await story.store.listSilences()).toEqual([short, long])
      const remove = (id: string) => story.store.deleteSilence(id as AlertSilenceId)
      expect([await remove('1'), await remove('1')]).toEqual([true, false])
      expect(await story.store.listSilences()).toEqual([short])
    })

    test('channels are kept with where they send and when they are quiet', async () => {
      await putChannel()
      await story.reopen()
      expect(await story.store.listWebhooks()).toMatchObject([
        { kind: 'channel', channel: { target: { kind: 'slack' }, quiet: { zone: 'UTC', days: [1] } } }
      ])
    })

    test('a message goes only to its channel, as one delivery', async () => {
      await putChannel()
      await putChannel({ id: aWebhookId('d'.repeat(32)), name: 'other' })
      const hook = { kind: 'webhook' as const, name: 'hook', events: ['alert', 'job.queued'], channel: null }
      await putChannel({ id: aWebhookId('e'.repeat(32)), ...hook })
      await story.store.writeAlerts(aWrite({ messages: [aMessage(), aMessage(CHANNEL, 10)] }))
      const sent = (await due()).map(({ webhookId, body }) => [webhookId, JSON.parse(body)])
      const body = (timestamp: string) => ({ type: 'alert', timestamp, data: aMessage().data })
      expect(sent).toEqual([
        [CHANNEL, body('1970-01-01T00:00:00.009Z')],
        [CHANNEL, body('1970-01-01T00:00:00.010Z')]
      ])
      expect((await story.store.listWebhooks()).map(({ name, waiting }) => [name, waiting])).toEqual([
        ...[
          ['chat', 2],
          ['hook', 0],
          ['other', 0]
        ]
      ])
    })

    test('the messages of channels are found in order, starting after any message of any channel', async () => {
      const [one, other] = [aWebhookId(CHANNEL), aWebhookId('d'.repeat(32))]
      const after = async (ids: WebhookId[], id: string | null, limit = 10) =>
        (await story.store.listDeliveriesAfter(ids, id, limit)).map(({ id: of }) => of)
      expect(await story.store.findNewestDelivery([one])).toBeNull()
      await putChannel()
      await putChannel({ id: other, name: 'other' })
      for (const channel of [CHANNEL, other, CHANNEL]) {
        await story.store.writeAlerts(aWrite({ messages: [aMessage(channel)] }))
      }
      await story.reopen()
      const [first, second, third] = await after([one, other], null)
      expect(await story.store.findNewestDelivery([one, other])).toBe(third)
      expect(await story.store.findNewestDelivery([other])).toBe(second)
      expect(await after([one, other], first!)).toEqual([second, third])
      expect(await after([one, other], first!, 1)).toEqual([second])
      expect(await after([one], second!)).toEqual([third])
      expect([await after([one], third!), await after([], null)]).toEqual([[], []])
    })

    test('a channel that is turned off or removed gets no message, and the rest is written', async () => {
      await putChannel({ enabled: false })
      const write = aWrite({ episodes: [anEpisode('1')], messages: [aMessage(), aMessage('d'.repeat(32))] })
      await story.store.writeAlerts(write)
      expect([await due(), await story.store.getAlerts(['1' as AlertId])]).toEqual([[], [anEpisode('1')]])
    })

    test('all of a write is kept, or nothing of it', async () => {
      await putChannel()
      const broken = { ...anEpisode('2'), ruleId: null } as never
      const write = aWrite({ groups: [aGroup('g1')], messages: [aMessage()] })
      await expect(story.store.writeAlerts({ ...write, episodes: [anEpisode('1'), broken] })).rejects.toThrow()
      await story.store.writeAlerts(aWrite({ episodes: [anEpisode('3')] }))
      expect(await story.store.readAlertMemory(0)).toEqual({ episodes: [anEpisode('3')], groups: [], sent: [] })
      expect([await due(), (await story.store.listWebhooks())[0]!.waiting]).toEqual([[], 0])
    })

    test('the memory is what is not settled, what ended lately, and the groups', async () => {
      const resolved = anEpisode('4', { state: 'resolved', endedAtMs: 10, resolvedAtMs: 10 })
      const open = [anEpisode('1', { state: 'pending', firedAtMs: null }), anEpisode('2'), anEpisode('3'), resolved]
      const past = [settled('5', 50), settled('6', 51)]
      await story.store.writeAlerts(aWrite({ episodes: [...open, ...past], groups: [aGroup('g1'), aGroup('g2')] }))
      const changed = { ...open[1]!, value: 3.5, state: 'calming' as const, endedAtMs: 60 }
      await story.store.writeAlerts({
        ...aWrite({ episodes: [changed], forgotten: ['1', '9'] as AlertId[] }),
        groups: [aGroup('g2', { lastToldAtMs: null, flushAtMs: 90 })],
        endedGroups: ['g1', 'g9']
      })
      await story.reopen()
      const { episodes, groups } = await story.store.readAlertMemory(50)
      expect(episodes).toEqual([changed, open[2], resolved, past[1]])
      expect(groups).toEqual([aGroup('g2', { lastToldAtMs: null, flushAtMs: 90 })])
    })

    test('the memory has the recent message times of each channel, whatever the outcome of the messages', async () => {
      const [other, hook] = ['d', 'e'].map((id) => aWebhookId(id.repeat(32))) as [never, never]
      await putChannel()
      await putChannel({ id: other, name: 'other' })
      await putChannel({ id: hook, kind: 'webhook', events: ['alert'], channel: null })
      const many = Array.from({ length: 600 }, (_, index) => aMessage(CHANNEL, 100 + index))
      await story.store.writeAlerts(aWrite({ messages: [aMessage(CHANNEL, 50), aMessage(other, 51), ...many] }))
      const [first] = (await due()).filter(({ madeAtMs }) => madeAtMs === 51)
      await story.store.concludeTries([
        { id: first!.id, state: 'delivered', atMs: 60, nextTryAtMs: null, answer: '204' }
      ])
      await story.store.sendDigest({ channelId: other, settings: 'a', toldMs: 700 }, { atMs: 700, data: {} })
      await putChannel({ id: other, name: 'other', enabled: false })
      await story.reopen()
      const { sent } = await story.store.readAlertMemory(50)
      const timesOf = (id: string) => sent.filter(({ channelId }) => channelId === id).map(({ atMs }) => atMs)
      expect(timesOf(CHANNEL).toSorted((one, two) => one - two)).toEqual(many.map(({ atMs }) => atMs))
      expect(timesOf(other)).toEqual([51])
      expect(sent).toHaveLength(601)
    })

    test('those that fire are listed first, then ended ones by their end; pending ones never', async () => {
      const firing = [
        anEpisode('1', { firedAtMs: 5 }),
        anEpisode('2', { firedAtMs: 9, state: 'calming', endedAtMs: 10 })
      ]
      const ended = [settled('3', 20), settled('4', 30, { channels: anEpisode('').channels }), settled('5', 40)]
      const pending = anEpisode('6', { state: 'pending', firedAtMs: null })
      await story.store.writeAlerts(aWrite({ episodes: [...firing, ...ended, pending] }))
      const list = async (filter: Parameters<typeof story.store.listAlerts>[0], page = NEWEST as never) =>
        idsOf(await story.store.listAlerts(filter, page)).join('')
      expect(await list({})).toBe('21543')
      expect([await list({ state: 'firing' }), await list({ state: 'resolved' })]).toEqual(['21', '543'])
      expect(await list({}, { before: null, limit: 3 } as never)).toBe('215')
      expect(await list({}, { before: { endedAtMs: 40, id: '5' }, limit: 9 } as never)).toBe('43')
    })

    test('of those that fire the most severe are listed first, whatever texts say: a storm hides none of them', async () => {
      const storm = ['1', '2', '3'].map((id) =>
        anEpisode(id, { severity: 'info', firedAtMs: 90, text: '"severity":"critical"' })
      )
      const old = [anEpisode('4', { firedAtMs: 5, severity: 'critical' }), anEpisode('5', { firedAtMs: 4 })]
      await story.store.writeAlerts(aWrite({ episodes: [...storm, ...old] }))
      const page = { before: null, limit: 2 } as never
      expect(idsOf(await story.store.listAlerts({ state: 'firing' }, page))).toEqual(['4', '5'])
    })

    test('the list goes on from any of those that fire, and with the ended ones after the last of them', async () => {
      const severities = ['info', 'critical', 'warning', 'critical', 'warning', 'info', 'warning'] as const
      const firing = severities.map((severity, at) => anEpisode(`${at}`, { severity, firedAtMs: at % 3 }))
      const all = [...firing, settled('8', 30), settled('9', 20)]
      await story.store.writeAlerts(aWrite({ episodes: all }))
      const whole = idsOf(await story.store.listAlerts({}, NEWEST as never))
      for (const limit of [1, 2, 3, 8]) {
        const listed: StoredEpisode[] = []
        for (let before: AlertPage['before'] = null; listed.length < all.length; ) {
          listed.push(...(await story.store.listAlerts({}, { before, limit })))
          const { id, state, severity, firedAtMs, endedAtMs } = listed.at(-1)!
          before =
            state === 'resolved' ? { endedAtMs: endedAtMs!, id } : { rank: rankOf(severity), firedAtMs: firedAtMs!, id }
        }
        expect(idsOf(listed)).toEqual(whole)
      }
      const [third] = await story.store
        .listAlerts({ state: 'firing' }, { before: null, limit: 3 })
        .then((page) => page.slice(2))
      const before = { rank: rankOf(third!.severity), firedAtMs: third!.firedAtMs!, id: third!.id }
      expect(idsOf(await story.store.listAlerts({ state: 'firing' }, { before, limit: 99 }))).toEqual(whole.slice(3, 7))
    })

    test('those that ended in one moment are listed by their ids, and none is lost between two pages', async () => {
      const at = [settled('1', 30), ...['2', '3', '4', '5'].map((id) => settled(id, 20)), settled('6', 10)]
      await story.store.writeAlerts(aWrite({ episodes: at }))
      for (const filter of [{}, { ruleId: 'r1' as AlertRuleId }]) {
        const listed: string[] = []
        let before: AlertPage['before'] = null
        for (let pages = 0; pages < 3; pages += 1) {
          const page: StoredEpisode[] = await story.store.listAlerts(filter, { before, limit: 2 })
          listed.push(idsOf(page).join(''))
          before = { endedAtMs: page[1]!.endedAtMs!, id: page[1]!.id }
        }
        expect(listed).toEqual(['12', '34', '56'])
      }
    })

    test('a list is of one rule, and of no project that one may not see', async () => {
      await story.store.writeAlerts(
        aWrite({
          episodes: [
            ...[anEpisode('1'), anEpisode('2', { ruleId: 'r2' }), settled('3', 20, { ruleId: 'r2' }, 'books')],
            ...[anEpisode('4', { firedAtMs: 1 }, null), settled('5', 10, {}, 'music')]
          ]
        })
      )
      const list = async (filter: Parameters<typeof story.store.listAlerts>[0]) =>
        idsOf(await story.store.listAlerts(filter, NEWEST)).join('')
      expect(await list({ ruleId: 'r2' as AlertRuleId })).toBe('23')
      expect(await list({ onlyProjects: [aProjectName('shop'), aProjectName('books')] })).toBe('123')
      expect(await list({ onlyProjects: [] })).toBe('')
    })

    test('the figures of a rule count what fired lately, and what a user acted on', async () => {
      const acknowledged = { by: 'ada', atMs: 9 }
      await story.store.writeAlerts(
        aWrite({
          episodes: [
            ...[anEpisode('1', { firedAtMs: 100 }), settled('2', 400, { firedAtMs: 300, acknowledged })],
            ...[settled('3', 60, { firedAtMs: 50 }), anEpisode('4', { firedAtMs: 200, ruleId: 'r2', acknowledged })],
            anEpisode('5', { state: 'pending', firedAtMs: null })
          ]
        })
      )
      const figures = await story.store.sumAlerts(50)
      expect(figures.sort((one, other) => (one.ruleId < other.ruleId ? -1 : 1))).toEqual([
        { ruleId: 'r1', fired: 2, actedOn: 1, lastFiredAtMs: 300 },
        { ruleId: 'r2', fired: 1, actedOn: 1, lastFiredAtMs: 200 }
      ])
    })

    test('what ended long ago and is settled is forgotten, the oldest first, with silences that are over', async () => {
      const unsettled = anEpisode('4', { state: 'resolved', endedAtMs: 1, resolvedAtMs: 1 })
      const episodes = [settled('1', 10), settled('2', 20), settled('3', 30), unsettled, anEpisode('5')]
      await story.store.writeAlerts(aWrite({ episodes }))
      const daily = (endsMs: number | null) => ({ every: 'day' as const, zone: 'UTC', endsMs })
      const silences = [aSilence('1', 29), aSilence('2', 30), aSilence('3', 2, daily(null)), aSilence('4', 2, daily(9))]
      for (const silence of silences) await story.store.putSilence(silence)
      expect([await story.store.pruneAlerts(30, 1), idsOf(await story.store.listAlerts({}, NEWEST)).join('')]).toEqual([
        ...[1, '5324']
      ])
      expect([await story.store.pruneAlerts(30, 9), await story.store.pruneAlerts(30, 9)]).toEqual([1, 0])
      expect(idsOf(await story.store.listAlerts({}, NEWEST)).join('')).toBe('534')
      expect((await story.store.listSilences()).map(({ id }) => id)).toEqual(['2', '4', '3'])
      await story.store.pruneAlerts(LATER_MS, 9)
      expect(await story.store.listSilences()).toEqual([silences[2]])
    })
  })
}
