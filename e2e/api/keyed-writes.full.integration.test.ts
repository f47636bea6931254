import { afterAll, beforeAll, expect, test } from 'vitest'
import { uploadDemo } from '../support/demo-egg.ts'
import { askRest, type RestAnswer } from '../support/rest.ts'
import { type Service, startService } from '../support/service.ts'

/** The service is killed after this many responses of a round: after the first, soon, and late. */
const KILLED_AFTER = [1, 8, 40]
const ORDERS_OF_A_KIND = 12

let service: Service
beforeAll(async () => {
  service = await startService({ localSlots: 0 })
  await uploadDemo(service, 'r1')
})
afterAll(() => service?.stop())

/** A write that creates something under `name`, and whether its result can remain unknown. */
interface Order {
  name: string
  path: string
  body: object
  mayBeCutOff: boolean
}

function ordersOf(round: number): Order[] {
  const work = { project: 'demo', spider: 'quotes' }
  const crawl = (name: string, more: object) => ({
    path: '/crawl',
    body: { ...work, params: { order: name }, ...more }
  })
  const kinds: Record<string, (name: string) => Omit<Order, 'name'>> = {
    job: (name) => ({
      path: '/jobs',
      body: { project: 'demo', spiders: ['quotes'], args: { order: name } },
      mayBeCutOff: false
    }),
    bulk: (name) => ({ path: '/jobs/bulk', body: { jobs: [{ ...work, args: { order: name } }] }, mayBeCutOff: false }),
    crawl: (name) => ({ ...crawl(name, {}), mayBeCutOff: false }),
    // Creates a job regardless of earlier ones, so only its key can prevent a second one.
    fresh: (name) => ({ ...crawl(name, { ignore_cache: true }), mayBeCutOff: true }),
    // The service can be down for longer than the result is cached.
    brief: (name) => ({ ...crawl(name, { cache_seconds: 1 }), mayBeCutOff: true }),
    chain: (name) => ({
      path: '/chains',
      body: {
        name,
        enabled: false,
        project: 'demo',
        spider: '*',
        on: 'failed',
        run: { project: 'demo', spiders: ['quotes'] }
      },
      mayBeCutOff: true
    })
  }
  return Object.entries(kinds).flatMap(([kind, make]) =>
    Array.from({ length: ORDERS_OF_A_KIND }, (_, index) => {
      const name = `${kind}-${round}-${index}`
      return { name, ...make(name) }
    })
  )
}

const send = ({ name, path, body }: Order): Promise<RestAnswer> =>
  askRest(service.address, { method: 'POST', path, body, headers: { 'idempotency-key': name } })

async function effects(): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const add = (name: string | undefined) => name !== undefined && counts.set(name, (counts.get(name) ?? 0) + 1)
  for (let before: string | undefined; ; ) {
    const page = await service.client.jobs.list({ limit: 500, ...(before === undefined ? {} : { before }) })
    for (const { args } of page.jobs) add(args['order'])
    if (page.nextBefore === null) break
    before = page.nextBefore
  }
  for (const { name } of (await service.client.chains.list()).chains) add(name)
  return counts
}

test('writes with a key, repeated after each kill -9, take effect once and get one response, or an error that the result is unknown', async () => {
  const orders: Order[] = []
  const answered = new Map<string, RestAnswer>()
  let cutOff = 0
  const note = ({ name }: Order, answer: RestAnswer) => {
    const first = answered.get(name)
    if (first === undefined) return void answered.set(name, answer)
    expect([name, answer.status, answer.body]).toEqual([name, first.status, first.body])
    if (answer.status < 300) expect([name, answer.headers.get('idempotency-replayed')]).toEqual([name, 'true'])
  }

  for (const [round, killedAfter] of KILLED_AFTER.entries()) {
    orders.push(...ordersOf(round))
    let left = killedAfter
    const fresh = orders.slice(-ordersOf(round).length)
    const killed = Promise.withResolvers<void>()
    const sent = fresh.map(async (order) => {
      const answer = await send(order)
      note(order, answer)
      left -= 1
      if (left === 0) killed.resolve(service.kill())
    })
    const results = await Promise.allSettled(sent)
    await killed.promise
    cutOff += results.filter(({ status }) => status === 'rejected').length
    await service.start()
    await Promise.all(orders.map(async (order) => note(order, await send(order))))
  }

  // If the kills had cut off no requests, the test would prove nothing.
  expect(cutOff).toBeGreaterThan(ORDERS_OF_A_KIND)
  const counts = await effects()
  for (const { name, mayBeCutOff } of orders) {
    const { status, body } = answered.get(name)!
    const count = counts.get(name) ?? 0
    if (mayBeCutOff && status === 409) {
      expect([name, body.code, count <= 1]).toEqual([name, 'IDEMPOTENCY_CUT_OFF', true])
    } else expect([name, status, count]).toEqual([name, 200, 1])
  }
}, 180_000)
