import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { aWebhookId } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { NewWebhook, StoredDelivery } from '../../model/records.ts'
import { aNewJob } from '../../testing/builders.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { openTemporaryStore, type TemporaryStore } from '../../testing/temporary-store.ts'
import { Deliverer, type DelivererParts } from './deliverer.ts'
import type { SendResult } from './plan-try.ts'

const GOOD: SendResult = { isGood: true, answer: '204' }
const BAD: SendResult = { isGood: false, answer: '500' }
const [OURS, OTHER] = ['a'.repeat(32), 'b'.repeat(32)]

let clock: FakeClock
let temporary: TemporaryStore
let deliverer: Deliverer
let told: { webhookId: string; id: string; atMs: number }[]
let answer: (delivery: StoredDelivery) => SendResult | Promise<SendResult>

function open(store: DelivererParts['store'] = temporary.store): Deliverer {
  return new Deliverer({
    store,
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    send: async (_webhook, delivery) => {
      told.push({ webhookId: delivery.webhookId, id: delivery.id, atMs: clock.monotonicMs() })
      return answer(delivery)
    }
  })
}

async function putWebhook(id = OURS, over: Partial<NewWebhook> = {}): Promise<void> {
  await temporary.store.putWebhook({
    id: aWebhookId(id),
    kind: 'webhook',
    name: id,
    url: 'https://example.org/',
    events: ['job.queued'],
    project: null,
    enabled: true,
    createdAtMs: 1,
    sealedSecret: null,
    sealedOldSecret: null,
    oldSecretUntilMs: null,
    ...over
  })
  await deliverer.refreshReceivers()
}

const enqueue = async (count: number) => {
  await temporary.store.enqueueJobs(
    Array.from({ length: count }, () => aNewJob({ entry: { atMs: clock.nowMs(), message: plain(''), evidence: {} } }))
  )
}
const webhook = async (id = OURS) => (await temporary.store.listWebhooks()).find((one) => one.id === id)
const toldOf = (id: string) => told.filter(({ webhookId }) => webhookId === id)

/** Does not wait for deliveries that never end. */
async function stop(one: Deliverer): Promise<void> {
  const stopping = one.stop()
  await clock.advanceBy(5_000)
  await stopping
}

beforeEach(async () => {
  clock = createFakeClock()
  temporary = await openTemporaryStore({ clock, inMemory: true })
  told = []
  answer = () => GOOD
  deliverer = open()
  await deliverer.start()
})

afterEach(async () => {
  await stop(deliverer)
  await temporary.remove()
})

describe('the deliverer', () => {
  it('sends each event exactly once, and at once', async () => {
    await putWebhook()
    await enqueue(20)
    await clock.advanceBy(1_000)
    expect(new Set(told.map(({ id }) => id)).size).toBe(20)
    expect(told.length).toBe(20)
    expect(await webhook()).toMatchObject({ waiting: 0, dead: 0, problem: null })
  })

  it('does not repeat an event that was delivered during the query of due ones', async () => {
    await stop(deliverer)
    const { store } = temporary
    const answered: PromiseWithResolvers<SendResult>[] = []
    answer = () => {
      answered.push(Promise.withResolvers<SendResult>())
      return answered.at(-1)!.promise
    }
    let isRead: () => Promise<void> = async () => undefined
    deliverer = open({
      listWebhooks: () => store.listWebhooks(),
      concludeTries: (tries) => store.concludeTries(tries),
      onChange: (listener) => store.onChange(listener),
      async listDueDeliveries(nowMs, limit) {
        const due = await store.listDueDeliveries(nowMs, limit)
        await isRead()
        return due
      }
    })
    await deliverer.start()
    await putWebhook()
    await enqueue(1)
    await clock.advanceBy(100)
    // The read has started. The delivery that it lists succeeds before the result of the read arrives.
    const { promise: isHeard, resolve: hear } = Promise.withResolvers<void>()
    isRead = async () => {
      isRead = async () => undefined
      answered[0]!.resolve(GOOD)
      await expect.poll(async () => (await webhook())?.waiting).toBe(0)
      hear()
    }
    deliverer.wake()
    await clock.advanceBy(100)
    await isHeard
    await clock.advanceBy(100)
    expect(told).toHaveLength(1)
  })

  it('retries a failed delivery, under the same id, until it is accepted', async () => {
    await putWebhook()
    answer = () => (told.length < 3 ? BAD : GOOD)
    await enqueue(1)
    await clock.advanceBy(60_000)
    expect(told.map(({ id }) => id)).toEqual([told[0]!.id, told[0]!.id, told[0]!.id])
    const [first, second, third] = told.map(({ atMs }) => atMs)
    expect(second! - first!).toBeGreaterThanOrEqual(5_000)
    expect(third! - second!).toBeGreaterThanOrEqual(30_000)
    expect(await webhook()).toMatchObject({ waiting: 0, problem: null })
  })

  it('gives up after three days and some hours, and sends it again when it is replayed', async () => {
    await putWebhook()
    answer = () => BAD
    await enqueue(1)
    for (let hour = 0; hour < 100; hour += 1) await clock.advanceBy(3_600_000)
    expect(told.length).toBe(11)
    expect(await webhook()).toMatchObject({ waiting: 0, dead: 1, problem: '500' })
    answer = () => GOOD
    await temporary.store.replayDeliveries(aWebhookId(OURS), [], clock.nowMs())
    deliverer.forgetFailures(aWebhookId(OURS))
    await clock.advanceBy(1_000)
    expect(await webhook()).toMatchObject({ waiting: 0, dead: 0, problem: null })
    expect(told.at(-1)!.id).toBe(told[0]!.id)
  })

  it('tries a failing receiver less and less often, however much waits, and sends everything when it is back', async () => {
    await putWebhook()
    answer = () => BAD
    await enqueue(200)
    await clock.advanceBy(600_000)
    expect(told.length).toBeLessThan(30)
    answer = () => GOOD
    for (let hour = 0; hour < 8; hour += 1) await clock.advanceBy(3_600_000)
    expect(await webhook()).toMatchObject({ waiting: 0, dead: 0 })
  })

  it('a receiver that never answers does not delay another', async () => {
    await putWebhook(OURS)
    await putWebhook(OTHER)
    answer = ({ webhookId }) => (webhookId === OURS ? new Promise(() => undefined) : GOOD)
    await enqueue(30)
    await clock.advanceBy(1_000)
    expect([toldOf(OURS).length, toldOf(OTHER).length]).toEqual([4, 30])
  })

  it('sends events to a plugin one after another, in order', async () => {
    const plugin = 'plugin:ours'
    await putWebhook(plugin, { kind: 'plugin' })
    let atOnce = 0
    let most = 0
    answer = async () => {
      atOnce += 1
      most = Math.max(most, atOnce)
      await new Promise((resolve) => setImmediate(resolve))
      atOnce -= 1
      return GOOD
    }
    await enqueue(10)
    for (let turn = 0; turn < 100 && told.length < 10; turn += 1) await clock.advanceBy(50)
    expect([most, told.length]).toEqual([1, 10])
    const order = (await temporary.store.listDeliveries(aWebhookId(plugin), { before: null, limit: 20 })).map(
      ({ id }) => id
    )
    expect(told.map(({ id }) => id)).toEqual(order.reverse())
  })

  it('repeats, under the same id, a delivery that was in flight when the engine died', async () => {
    await putWebhook()
    answer = () => new Promise(() => undefined)
    await enqueue(1)
    await clock.advanceBy(1_000)
    const died = deliverer
    answer = () => GOOD
    deliverer = open()
    await deliverer.start()
    await clock.advanceBy(1_000)
    expect(told.map(({ id }) => id)).toEqual([told[0]!.id, told[0]!.id])
    expect(await webhook()).toMatchObject({ waiting: 0 })
    await stop(died)
  })

  it('events for a disabled webhook are sent when it is enabled', async () => {
    await putWebhook()
    answer = () => BAD
    await enqueue(1)
    await clock.advanceBy(1_000)
    await putWebhook(OURS, { enabled: false })
    await clock.advanceBy(600_000)
    expect(told.length).toBe(1)
    answer = () => GOOD
    await putWebhook(OURS)
    await clock.advanceBy(1_000)
    expect(told.length).toBe(2)
  })

  it('disables a receiver that is gone, and clears its timers when it stops', async () => {
    await putWebhook()
    answer = () => ({ isGood: false, answer: '410', isGone: true })
    await enqueue(3)
    await clock.advanceBy(60_000)
    expect(await webhook()).toMatchObject({ enabled: false })
    await enqueue(1)
    await clock.advanceBy(60_000)
    expect(told.length).toBeLessThanOrEqual(3)
    await stop(deliverer)
    expect(clock.timerCount()).toBe(0)
  })
})
