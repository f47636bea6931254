import { MessageChannel } from 'node:worker_threads'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/fetch'
import { RPCLink as PortLink } from '@orpc/client/message-port'
import type { ContractRouterClient } from '@orpc/contract'
import { RPCHandler as PortHandler } from '@orpc/server/message-port'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Change, ChangeBatch, Contract } from '../shared/contract/index.ts'
import { fromWireError, createWireErrorInterceptor } from '../shared/wire-errors.ts'
import { EXAMPLES } from '../shared/examples/operations.ts'
import { createFakeEngine, type FakeEngine, someFigures } from './testing/fake-engine.ts'
import { OWNER } from '../engine/access/principal.ts'
import { openTestService, RIGHT } from './testing/test-app.ts'

type Client = ContractRouterClient<Contract>

async function connectOverHttp(engine: FakeEngine): Promise<Client> {
  const { service } = await openTestService({}, engine)
  return createORPCClient(new RPCLink({ url: `${service.address}/api/rpc`, headers: { authorization: RIGHT } }))
}

async function connectOverPort(engine: FakeEngine): Promise<Client> {
  const { port1, port2 } = new MessageChannel()
  new PortHandler(await engine.router(), { clientInterceptors: [createWireErrorInterceptor(() => {})] }).upgrade(
    port1,
    {
      context: { principal: OWNER, source: 'ui' }
    }
  )
  onTestFinished(() => port1.close())
  return createORPCClient(new PortLink({ port: port2 }))
}

describe.each([
  ['HTTP', connectOverHttp],
  ['MessagePort', connectOverPort]
])('the contract over %s', (_wire, connect) => {
  it('answers a call with defaults filled in', async () => {
    const client = await connect(createFakeEngine())
    const { jobs } = await client.jobs.list({ project: 'news' })
    expect(jobs[0]).toMatchObject({ project: 'news', priority: 100 })
  })

  it('carries any text', async () => {
    const client = await connect(createFakeEngine())
    const args = { tag: 'naïve 日本 \u{1f600} \0', __proto__x: 'y' }
    const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['quotes'], args })
    expect(jobs[0]?.args).toEqual(args)
  })

  it('uploads a file byte for byte', async () => {
    const client = await connect(createFakeEngine())
    const bytes = Uint8Array.from({ length: 3_000_000 }, (_, index) => index % 251)
    const file = new File([bytes], 'shop.egg', { type: 'application/zip' })
    const hash = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
    expect(await client.projects.upload({ file, project: 'shop' })).toMatchObject({
      project: 'shop',
      version: 'shop.egg',
      sizeBytes: 3_000_000,
      sha256: hash
    })
  })

  it('our errors arrive with code, message and data', async () => {
    const client = await connect(createFakeEngine())
    const id = '019b0000000000000000000000000009'
    const error = fromWireError(await client.jobs.get({ id }).catch((caught: unknown) => caught))
    expect([error.code, error.message, error.data]).toEqual(['JOB_NOT_FOUND', `There is no job ${id}.`, { id }])
  })

  it('invalid input is explained', async () => {
    const client = await connect(createFakeEngine())
    const error = fromWireError(await client.jobs.get({ id: 'x' }).catch((caught: unknown) => caught))
    expect(error.code).toBe('BAD_INPUT')
    expect(error.message).toContain('id: ')
  })

  it('a bug arrives without its details', async () => {
    const client = await connect(createFakeEngine())
    const call = client.jobs.retry({ ids: ['019b0000000000000000000000000009'] })
    const error = fromWireError(await call.catch((caught: unknown) => caught))
    expect([error.code, error.message.includes('secret')]).toEqual(['INTERNAL', false])
  })

  it('a schedule arrives with every kind of rule, its dates, nulls and braces', async () => {
    const client = await connect(createFakeEngine())
    const settings = {
      name: 'Prices',
      zone: 'Europe/Berlin',
      rules: [
        { kind: 'cron' as const, expression: '0 7 * * MON#1' },
        { kind: 'interval' as const, everySeconds: 90, anchorMs: 1_793_620_980_000 },
        { kind: 'once' as const, atMs: 4_102_444_800_000 }
      ],
      excludedDates: ['2026-12-24'],
      endMs: null,
      jobs: [
        {
          project: 'shop',
          spiders: ['a', 'b'],
          args: { day: '{nominal:yyyy-MM-dd} {{x}' },
          matrix: { country: ['de', 'fr'] }
        }
      ]
    }
    const { schedule } = await client.schedules.create(settings)
    expect(schedule).toMatchObject({ ...settings, overlap: expect.any(String), jobs: [{ argSets: [], priority: 0 }] })
  })

  it('an unreadable schedule names the bad field; a missing one is reported with its id', async () => {
    const client = await connect(createFakeEngine())
    const rules = [{ kind: 'cron' as const, expression: '' }]
    const bad = fromWireError(
      await client.schedules.create({ name: 'x', zone: 'UTC', rules, jobs: [] }).catch((caught: unknown) => caught)
    )
    expect([bad.code, bad.message]).toEqual(['BAD_INPUT', expect.stringContaining('rules.0.expression: ')])
    const id = '9'.repeat(32)
    const none = fromWireError(await client.schedules.get({ id }).catch((caught: unknown) => caught))
    expect([none.code, none.data]).toEqual(['SCHEDULE_NOT_FOUND', { id }])
  })

  it('run times and firings of schedules arrive whole', async () => {
    const client = await connect(createFakeEngine())
    const { schedules } = EXAMPLES
    expect(await client.schedules.preview(schedules.preview.input!)).toEqual(schedules.preview.output)
    expect(await client.schedules.calendar(schedules.calendar.input!)).toEqual(schedules.calendar.output)
    expect(await client.schedules.firings(schedules.firings.input!)).toEqual(schedules.firings.output)
  })

  it('a webhook shows its secret once, and its deliveries; a forbidden address is explained', async () => {
    const client = await connect(createFakeEngine())
    const settings = { name: 'ours', url: 'https://hooks.example/a?b=%20c', events: ['job.ended' as const] }
    const { webhook, secret } = await client.webhooks.create(settings)
    expect([webhook, secret]).toEqual([expect.objectContaining(settings), expect.stringMatching(/^whsec_/)])
    const { deliveries } = EXAMPLES.webhooks
    expect(await client.webhooks.deliveries({ id: webhook.id, state: 'dead' })).toEqual(deliveries.output)
    const inside = client.webhooks.create({ ...settings, url: 'http://localhost/' })
    const error = fromWireError(await inside.catch((caught: unknown) => caught))
    expect([error.code, error.message]).toEqual(['WEBHOOK_URL_FORBIDDEN', 'localhost is inside this machine.'])
  })

  it('changes of schedules and webhooks arrive in the event stream', async () => {
    const engine = createFakeEngine()
    const client = await connect(engine)
    const { schedule } = EXAMPLES.schedules.create.output
    const changes: Change[] = [
      { kind: 'schedule', schedule },
      { kind: 'schedule_removed', id: schedule.id },
      { kind: 'webhooks' }
    ]
    engine.addChanges(changes)
    const stream = await client.events.subscribe({ after: '0' })
    expect((await stream.next()).value).toEqual({ cursor: '1', reset: false, changes })
    await stream.return(undefined)
  })

  it('an error in the middle of a stream arrives after what was sent before it', async () => {
    const client = await connect(createFakeEngine())
    const seen: string[] = []
    const read = async () => {
      for await (const deployment of await client.projects.deploy({ project: 'shop', version: '1' }))
        seen.push(deployment.state)
    }
    const error = fromWireError(await read().catch((caught: unknown) => caught))
    expect([seen, error.code]).toEqual([['sending'], 'VERSION_NOT_FOUND'])
  })

  it('a bug in a stream arrives without its details', async () => {
    const client = await connect(createFakeEngine())
    const read = async () => {
      for await (const chunk of await client.logs.tail({ jobId: '019b0000000000000000000000000009' })) return chunk
    }
    const error = fromWireError(await read().catch((caught: unknown) => caught))
    expect([error.code, error.message.includes('secret')]).toEqual(['INTERNAL', false])
  })

  it('events resume where the client stopped, without duplicates or gaps', async () => {
    const engine = createFakeEngine()
    const client = await connect(engine)
    for (let queued = 0; queued < 3; queued++) engine.addBatch(someFigures(queued))
    const first = await client.events.subscribe({ after: '0' })
    const seen = [await readCursor(first), await readCursor(first)]
    await first.return(undefined)
    engine.addBatch(someFigures(3))
    const second = await client.events.subscribe({ after: seen.at(-1) })
    seen.push(await readCursor(second), await readCursor(second))
    const live = readCursor(second)
    engine.addBatch(someFigures(4))
    seen.push(await live)
    await second.return(undefined)
    expect(seen).toEqual(['1', '2', '3', '4', '5'])
  })

  it('a stream that the client closes also ends in the engine', async () => {
    const engine = createFakeEngine()
    const client = await connect(engine)
    engine.addBatch(someFigures(1))
    const stream = await client.events.subscribe({ after: '0' })
    await stream.next()
    expect(engine.openStreams.count).toBe(1)
    await stream.return(undefined)
    await expect.poll(() => engine.openStreams.count).toBe(0)
  })

  it('a call that the client aborts is aborted', async () => {
    const engine = createFakeEngine()
    const client = await connect(engine)
    const giveUp = new AbortController()
    const stream = await client.events.subscribe({}, { signal: giveUp.signal })
    const next = stream.next()
    giveUp.abort()
    await expect(next).rejects.toThrow()
    await expect.poll(() => engine.openStreams.count).toBe(0)
  })
})

async function readCursor(stream: AsyncIterator<ChangeBatch>): Promise<string> {
  const result = await stream.next()
  if (result.done) throw new Error('The stream of events ended.')
  return result.value.cursor
}
