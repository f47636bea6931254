import { expect } from 'vitest'
import { aJobId, anAttemptNumber } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { NodeError } from '../../nodes/node-client.ts'
import { it } from '../../testing/dispatch-fixtures.ts'
import { advanceUntil } from '../../testing/until.ts'

const LINE = '2026-11-02 12:00:00 [scrapy.core.engine] DEBUG: Crawled (200) <GET https://a.example/> (referer: None)\n'
const READING = { readsLogs: true }
const FIRST = anAttemptNumber(1)

it.for([3, 3_000])(
  'a log of %i lines that its node deletes while the spider runs is kept',
  async (lines, { clock, store, node, engine }) => {
    await engine.start({ n1: node }, READING)
    const id = await engine.enqueue()
    await clock.advanceBy(2_000)
    node.logs.set(id, LINE.repeat(lines))
    await clock.advanceBy(10_000)
    node.end(id)
    node.logs.delete(id)
    // Polls, because the archive is on a real disk.
    await advanceUntil(clock, async () => (await engine.job(id)).state === 'ended')
    expect(await engine.job(id)).toMatchObject({ pages: lines })
    expect(await store.findArchivedLog(aJobId(id), FIRST)).toMatchObject({ sizes: { rawBytes: lines * LINE.length } })
    expect(JSON.parse((await store.findFigures(aJobId(id), FIRST))!)).toMatchObject({ pages: lines })
    const end = (await store.listTimeline(aJobId(id))).find(({ evidence }) => 'logKeptBytes' in evidence)
    expect(end?.evidence).toMatchObject({ logBytes: null, logKeptBytes: lines * LINE.length })
  }
)

it('a log that the node has deleted in part is kept as it was copied', async ({ clock, store, node, engine }) => {
  await engine.start({ n1: node }, READING)
  const id = await engine.enqueue()
  await clock.advanceBy(2_000)
  node.logs.set(id, LINE.repeat(3))
  await clock.advanceBy(10_000)
  node.end(id)
  // A power failure lost the part that was not yet on disk.
  node.logs.set(id, LINE)
  await advanceUntil(clock, async () => (await engine.job(id)).state === 'ended')
  expect(await store.findArchivedLog(aJobId(id), FIRST)).toMatchObject({ sizes: { rawBytes: 3 * LINE.length } })
})

it.for([
  ['a shorter one', LINE],
  ['none', null]
] as const)(
  'the archived part of a lost run stays when the run is found again and its node has %s by then',
  async ([_what, log], { clock, store, node, engine }) => {
    await engine.start({ n1: node }, READING)
    const id = await engine.enqueue()
    await clock.advanceBy(2_000)
    node.isDown = true
    await clock.advanceBy(5_000)
    await engine.dispatch.runElsewhere([aJobId(id)])
    // The sweep over copied logs does this after a day.
    const sizes = { rawBytes: 3 * LINE.length, storedBytes: 1 }
    await store.markLogArchived(aJobId(id), FIRST, { packed: null, sizes })
    node.end(id)
    if (log === null) node.logs.delete(id)
    else node.logs.set(id, log)
    node.isDown = false
    await advanceUntil(clock, async () => (await engine.job(id)).state === 'ended')
    expect(await engine.kinds(id)).toContain('found_again')
    expect(await store.findArchivedLog(aJobId(id), FIRST)).toMatchObject({ sizes })
    const end = (await store.listTimeline(aJobId(id))).findLast(({ evidence }) => 'logBytes' in evidence)
    expect(end?.evidence).toMatchObject({ logKeptBytes: sizes.rawBytes })
  }
)

it('a run whose log disappeared before a line was read ends without a log', async ({ clock, store, node, engine }) => {
  await engine.start({ n1: node }, READING)
  const id = await engine.enqueue()
  await clock.advanceBy(500)
  node.end(id)
  node.logs.delete(id)
  await clock.advanceBy(10_000)
  expect(await engine.job(id)).toMatchObject({ state: 'ended' })
  expect(await store.findArchivedLog(aJobId(id), FIRST)).toBeNull()
  expect(await store.findFigures(aJobId(id), FIRST)).toBeNull()
})

it('a log that could not be read whole is archived, although archiving fails once', async ({
  clock,
  store,
  node,
  engine
}) => {
  await engine.start({ n1: node })
  const id = await engine.enqueue()
  await clock.advanceBy(2_000)
  const lines = 20_000
  const readLog = node.readLog.bind(node)
  let refused = 0
  node.readLog = async (of, range) => {
    // The end of the log can be read. Reading the whole log fails three times, and archiving it then fails once.
    if (range.offset >= 0 && refused < 4) {
      refused += 1
      throw new NodeError('http', plain('n1 responded with 500'), { delivered: 'unknown' })
    }
    return readLog(of, range)
  }
  node.end(id)
  node.logs.set(id, LINE.repeat(lines) + node.logs.get(id)!)
  await advanceUntil(clock, async () => (await engine.job(id)).state === 'ended')
  expect(refused).toBe(4)
  const sizes = { rawBytes: node.logs.get(id)!.length }
  expect(await store.findArchivedLog(aJobId(id), FIRST)).toMatchObject({ sizes })
})
