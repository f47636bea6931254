import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AlertNews } from '../../../shared/contract/index.ts'
import { aWebhookId } from '../../../shared/testing/ids.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { StoredDelivery } from '../../model/records.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { openTemporaryStore, type TemporaryStore } from '../../testing/temporary-store.ts'
import { Alerts } from './alerts.ts'
import { aSignal, aRule } from './testing/book-in-time.ts'

const north = aSignal('north')

let clock: FakeClock
let temporary: TemporaryStore
let alerts: Alerts
let isBroken: boolean

beforeEach(async () => {
  clock = createFakeClock()
  temporary = await openTemporaryStore({ clock, inMemory: true })
  isBroken = false
  const { store } = temporary
  // This channel has no limit, like those that were created before limits existed.
  await putChat()
  await store.putAlertRule(aRule({ gatherSeconds: 0 }))
  alerts = open(1)
})

afterEach(async () => {
  await alerts.stop()
  await temporary.remove()
})

const putChat = (limit: { messagesPerHour?: number } = {}) =>
  temporary.store.putWebhook({
    id: aWebhookId('chat'),
    kind: 'channel',
    name: 'chat',
    url: '',
    events: [],
    project: null,
    enabled: true,
    createdAtMs: 1,
    sealedSecret: null,
    sealedOldSecret: null,
    oldSecretUntilMs: null,
    channel: { target: { kind: 'slack' }, quiet: null, ...limit }
  })

function open(seed: number): Alerts {
  const store = new Proxy(temporary.store, {
    get: (target, name) =>
      isBroken && (name === 'writeAlerts' || name === 'answerAlerts')
        ? () => Promise.reject(new Error('The disk is full'))
        : Reflect.get(target, name)
  })
  const random = createSeededRandom(seed)
  return new Alerts({ store, clock, random, logger: silentLogger, cordonedNodes: () => new Set() })
}

async function told(): Promise<string[]> {
  const { deliveries } = await temporary.store.listDueDeliveries(Number.MAX_SAFE_INTEGER, 100)
  return deliveries.map(({ body }: StoredDelivery) => {
    const { firing, title } = (JSON.parse(body) as { data: AlertNews }).data
    return `${firing.length > 0 ? 'firing' : 'resolved'}: ${title}`
  })
}

const firing = () => temporary.store.listAlerts({ state: 'firing' }, { before: null, limit: 100 })

test('the alert of a signal and its message are on disk a moment later', async () => {
  await alerts.start()
  alerts.receive(north)
  await clock.advanceBy(100)
  expect(await told()).toEqual(['firing: north is stuck'])
  expect(await temporary.store.listAlerts({}, { before: null, limit: 9 })).toMatchObject([
    { key: 'north', state: 'firing' }
  ])
})

test('a message that could not be written is written exactly once when the store works again', async () => {
  await alerts.start()
  isBroken = true
  alerts.receive(north)
  await clock.advanceBy(3_000)
  alerts.receive({ ...north, value: 0 })
  await clock.advanceBy(20_000)
  expect(await told()).toEqual([])
  isBroken = false
  await clock.advanceBy(20_000)
  expect(await told()).toEqual(['firing: north is stuck', 'resolved: north is stuck'])
})

test('an acknowledgement that cannot be stored is refused', async () => {
  await alerts.start()
  alerts.receive(north)
  await clock.advanceBy(100)
  const ids = (await firing()).map(({ id }) => id)
  isBroken = true
  await expect(alerts.acknowledge(ids, 'ada')).rejects.toThrow('The disk is full')
  isBroken = false
  await clock.advanceBy(20_000)
  expect(await temporary.store.getAlerts(ids)).toMatchObject([{ acknowledged: { by: 'ada' } }])
})

test('another engine continues where this one stopped', async () => {
  await alerts.start()
  alerts.receive(north)
  await clock.advanceBy(100)
  await alerts.stop()
  alerts = open(2)
  await alerts.start()
  await clock.advanceBy(100_000)
  expect(await firing()).toMatchObject([{ subject: 'north', state: 'firing' }])
  alerts.receive({ ...north, value: 0 })
  await clock.advanceBy(100)
  expect(await told()).toEqual(['firing: north is stuck', 'resolved: north is stuck'])
})

test('the limit of a channel survives a restart, and held alerts are sent in time', async () => {
  await putChat({ messagesPerHour: 1 })
  const each = aRule({ id: 'each', gatherSeconds: 0, groupBy: 'each', createdAtMs: 2 })
  await temporary.store.deleteAlertRule('rule' as never)
  await temporary.store.putAlertRule(each)
  await alerts.start()
  alerts.receive(north)
  await clock.advanceBy(100)
  const fullUntilMs = clock.nowMs() + 3_600_000
  alerts.receive(aSignal('south'))
  await clock.advanceBy(100)
  await alerts.stop()
  alerts = open(2)
  await alerts.start()
  await clock.advanceBy(600_000)
  expect(await told()).toEqual(['firing: north is stuck'])
  const { messages, nextAtMs } = alerts.held().get(aWebhookId('chat'))!
  expect([messages, Math.abs(nextAtMs - fullUntilMs) <= 100]).toEqual([1, true])
  await clock.advanceBy(nextAtMs - clock.nowMs() + 100)
  expect(await told()).toEqual(['firing: north is stuck', 'firing: south is stuck'])
  expect(alerts.held().size).toBe(0)
})

test('a rule created while the engine starts is not missed', async () => {
  const starting = alerts.start()
  const second = aRule({ id: 'second', name: 'Second', gatherSeconds: 0, createdAtMs: 2 })
  await temporary.store.putAlertRule(second)
  await alerts.reload()
  await starting
  alerts.receive(north)
  await clock.advanceBy(100)
  expect((await firing()).map(({ ruleName }) => ruleName).toSorted()).toEqual(['Rule', 'Second'])
})
