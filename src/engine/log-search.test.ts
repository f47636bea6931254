import { expect, onTestFinished, test } from 'vitest'
import { openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'
import { isCore } from '../../scripts/test-length.mjs'

test.skipIf(isCore)('a search over all logs finds the lines of a running job on a node, and opens there', async () => {
  const engine = await openEngineWithFakeNode()
  onTestFinished(() => engine.remove())
  await engine.prepare()
  const { client, node } = engine
  const search = async (text = 'parcel 7') => {
    const hits = []
    for await (const progress of await client.logs.searchAll({ text })) hits.push(...progress.hits)
    return hits
  }
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices'] })
  const { id } = jobs[0]!
  await engine.until(async () => node.running.length === 1)
  const line = '2026-01-01 00:00:00 [shop] ERROR: parcel 7 is lost\n'
  node.logs.set(node.running[0]!.jobid, `2026-01-01 00:00:00 [shop] INFO: parcel 6\n${line}`)
  await engine.until(async () => (await search()).length === 1)
  const [hit] = await search()
  expect(hit).toMatchObject({ jobId: id, attemptNumber: 1, line: 2, level: 'ERROR', project: 'shop', spider: 'prices' })
  const place = await client.logs.locate({ jobId: id, line: hit!.line })
  expect(place.offset).toBe(hit!.offset)
  const { text } = await client.logs.read({ jobId: id, offset: place.offset, limitBytes: 1_000 })
  expect(text).toBe(line)
  node.end(node.running[0]!.jobid)
  await engine.until(async () => (await client.jobs.get({ id })).attempts[0]!.logArchived)
  // The hit is now in the archive, and must not appear twice.
  expect((await search('Spider closed')).map(({ jobId }) => jobId)).toEqual([id])
})
