import { afterEach, beforeEach, expect, test } from 'vitest'
import { aProjectName } from '../shared/testing/ids.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'
import { isCore } from '../../scripts/test-length.mjs'

const SHOP = aProjectName('shop')
const AT = '2026-01-01 00:00:00'
const LOGSTATS = `${AT} [scrapy.extensions.logstats] INFO: Crawled 10 pages (at 9 pages/min), scraped 3 items (at 0 items/min)\n`
let house: EngineWithFakeNode

beforeEach(async () => {
  house = await openEngineWithFakeNode()
  await house.prepare()
})
afterEach(() => house.remove())

const run = async (over: object = {}) => {
  const { jobs } = await house.client.jobs.run({ project: SHOP, version: '1' as never, spiders: ['prices'], ...over })
  await house.until(async () => house.node.running.length > 0)
  return jobs[0]!
}
const stateOf = async (id: string) => (await house.client.jobs.get({ id: id as never })).job

async function endWith(items: number): Promise<string> {
  const { id } = await run()
  house.node.end(id)
  house.node.logs.set(id, house.node.logs.get(id)!.replace("'item_scraped_count': 3", `'item_scraped_count': ${items}`))
  await house.until(async () => (await stateOf(id)).state === 'ended')
  return id
}

test.skipIf(isCore)('a run without progress is stopped, even if Scrapdeck was restarted meanwhile', async () => {
  const { id } = await run({ limits: { noProgressSeconds: 60 } })
  await house.restart(5_000)
  house.node.logs.set(id, `${house.node.logs.get(id)}${LOGSTATS}`)
  await house.until(async () => (await stateOf(id)).pages === 10)
  await house.until(async () => house.node.running[0]!.signals.length > 0)
  house.node.end(id, 'shutdown')
  await house.until(async () => (await stateOf(id)).state === 'ended')
  expect(await stateOf(id)).toMatchObject({ status: 'failed', reason: 'progress limit of 1 min' })
})

test('after a restart, reading of a log continues from its copy and does not start again from its node', async () => {
  const { id } = await run()
  house.node.logs.set(id, LOGSTATS)
  await house.until(async () => (await stateOf(id)).pages === 10)
  const readLog = house.node.readLog.bind(house.node)
  const offsets: number[] = []
  house.node.readLog = (of, range) => {
    offsets.push(range.offset)
    return readLog(of, range)
  }
  await house.restart()
  house.node.logs.set(id, LOGSTATS + LOGSTATS.replace('10 pages', '20 pages'))
  await house.until(async () => (await stateOf(id)).pages === 20)
  expect(offsets[0]).toBe(LOGSTATS.length)
})

test.skipIf(isCore)(
  'an unusual run is a problem until it is dismissed, and a client receives both events',
  async () => {
    for (const items of [620, 615, 630, 622, 618]) await endWith(items)
    const id = await endWith(125)
    const problems = async () =>
      (await house.client.system.status()).problems.filter(({ id: of }) => of.startsWith('unusual'))
    await house.until(async () => (await problems()).length > 0)
    expect(await problems()).toMatchObject([{ jobId: id, text: expect.stringContaining('Items fell by 80 %: 125') }])
    expect(await house.client.findings.ofJob({ id: id as never })).toMatchObject({ state: 'judged', comparedRuns: 5 })
    const stream = await house.client.events.subscribe({})
    await stream.next()
    expect(await house.client.findings.dismiss({ project: SHOP, spider: 'prices', jobId: id as never })).toEqual({
      dismissed: true
    })
    expect((await stream.next()).value).toMatchObject({ changes: expect.arrayContaining([{ kind: 'findings' }]) })
    expect(await problems()).toEqual([])
    await stream.return?.(undefined)
  }
)

test.skipIf(isCore)('a project whose runs are not compared has no such problem', async () => {
  await house.client.projects.changeSettings({ project: SHOP, settings: { expectations: false } })
  for (const items of [620, 615, 630, 622, 618]) await endWith(items)
  const id = await endWith(0)
  await house.clock.advanceBy(10_000)
  expect(await house.client.findings.list()).toEqual({ spiders: [] })
  expect(await house.client.findings.ofJob({ id: id as never })).toMatchObject({ state: 'off' })
})

test.each([
  [
    'is not in the log',
    (_end: string) => `${LOGSTATS.replace('10 pages', '0 pages').replace('3 items', '0 items')}`,
    null
  ],
  ['counts nothing', (end: string) => end.replace(/\{'finish[^}]*/, "{'memusage/max': 1"), null],
  ['has keys that are no text', (end: string) => end.replace("{'finish", "{None: 1,\n 200: 5,\n 'finish"), 3],
  [
    'is longer than what is read of the end of a log',
    (end: string) => end.replace(" 'item", `${" 'domains/shop.example.com/pages': 1,\n".repeat(5_000)} 'item`),
    3
  ]
])('a rule about items does not judge unknown values: the closing stats %s', async (_what, change, items) => {
  await house.client.projects.changeSettings({ project: SHOP, settings: { outcome: { minItems: 1, minPages: 0 } } })
  const { id } = await run()
  house.node.end(id)
  const end = house.node.logs.get(id)!
  const closed = `${AT} [scrapy.core.engine] INFO: Spider closed (finished)\n`
  house.node.logs.set(id, change(end).includes(closed) ? change(end) : change(end) + closed)
  await house.until(async () => (await stateOf(id)).state === 'ended')
  expect(await stateOf(id)).toMatchObject({ status: 'succeeded', reason: 'finished', items })
})

const INTERRUPTED = `Traceback (most recent call last):
  File "/opt/scrapdeck/resources/python/warm.py", line 318, in become_spider
    run(launch)
  File "/opt/scrapdeck/resources/python/crawl.py", line 210, in run
    process.start()
KeyboardInterrupt
`
const errorsOf = async (id: string) =>
  (await house.client.errors.ofJob({ jobId: id as never })).errors.map(({ group }) => group)

test.each(['a cancel', 'a limit'])('our interruption by %s is not an error of the spider', async (cause) => {
  const { id } = await run(cause === 'a limit' ? { limits: { wallSeconds: 60 } } : {})
  if (cause === 'a cancel') await house.client.jobs.cancel({ ids: [id] })
  await house.until(async () => house.node.running[0]!.signals.length > 0)
  const before = house.node.logs.get(id)!
  house.node.end(id, 'shutdown')
  house.node.logs.set(id, before + INTERRUPTED)
  await house.until(async () => (await stateOf(id)).state === 'ended')
  expect(await errorsOf(id)).toEqual([])
})

test('an interruption by something else is an error, and none of our files appears in it', async () => {
  const { id } = await run()
  house.node.end(id, 'shutdown')
  house.node.logs.set(id, INTERRUPTED)
  await house.until(async () => (await stateOf(id)).state === 'ended')
  await house.until(async () => (await errorsOf(id)).length > 0)
  expect(await errorsOf(id)).toMatchObject([{ title: 'KeyboardInterrupt', because: 'exception' }])
  expect((await errorsOf(id))[0]!.culprit).not.toContain('.py')
})

test('a run whose own feeds could not be used says so at its end', async () => {
  const text = "The project's own feeds cannot be used, see above: the items are stored by Scrapdeck alone."
  const endOf = async (log: string) => {
    const { id } = await run()
    const before = house.node.logs.get(id)!
    house.node.end(id)
    house.node.logs.set(id, before + log + house.node.logs.get(id)!)
    await house.until(async () => (await stateOf(id)).state === 'ended')
    return (await house.client.jobs.get({ id })).timeline.at(-1)!.evidence
  }
  expect(await endOf(`${AT} [scrapy.extensions.feedexport] ERROR: ${text}\n`)).toHaveProperty('feeds')
  expect(await endOf(`${AT} [shop] ERROR: no price\n`)).not.toHaveProperty('feeds')
})
