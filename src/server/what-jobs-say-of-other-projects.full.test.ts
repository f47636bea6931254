import { describe, expect, it } from 'vitest'
import { openWithLimitedUser } from './testing/limited-client.ts'

const LATER = { notBeforeMs: 1_900_000_000_000 }
const TIMING = { rules: [{ kind: 'interval' as const, everySeconds: 3_600, anchorMs: 0 }], zone: 'UTC', name: 'n' }

describe('for a user who may see only shop', () => {
  it('a job that waits, or waited in vain, for one of another project does not name it', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'viewer' })
    const { id: newsId } = (await client.jobs.run({ project: 'news', spiders: ['x'], ...LATER })).jobs[0]!
    const { id: firstId } = (await client.jobs.run({ project: 'shop', spiders: ['y'], ...LATER })).jobs[0]!
    const after = [newsId, firstId].map((jobId) => ({ jobId, on: 'succeeded' as const }))
    const { id } = (await client.jobs.run({ project: 'shop', spiders: ['x'], after })).jobs[0]!

    const waiting = await limited.jobs.get({ id })
    expect(waiting.job).toMatchObject({
      after: [{ jobId: firstId }],
      waiting: { text: 'waits until another job has succeeded, and for 1 more' }
    })
    expect(waiting.job).toMatchObject(await limited.jobs.status({ id }))
    expect((await limited.jobs.list({})).jobs).toContainEqual(waiting.job)

    await client.jobs.cancel({ ids: [newsId], force: true })
    const ended = await limited.jobs.get({ id })
    expect(ended.job).toMatchObject({
      reason: 'skipped: another job ended as cancelled',
      reasonCode: 'reason.skipped',
      reasonParams: { jobId: null, outcome: 'cancelled' }
    })
    expect(ended.timeline.map(({ text }) => text)).toContain('Skipped: another job ended as cancelled')
    expect(JSON.stringify([waiting, ended])).not.toContain(newsId)
    // An owner sees the job.
    const told = await client.jobs.get({ id })
    expect(told.job).toMatchObject({ after, reason: `skipped: ${newsId} ended as cancelled` })
  })

  it('a job that waits for one of the same project names it', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'viewer' })
    const { id: firstId } = (await client.jobs.run({ project: 'shop', spiders: ['x'], ...LATER })).jobs[0]!
    const after = [{ jobId: firstId, on: 'ended' as const }]
    const { id } = (await client.jobs.run({ project: 'shop', spiders: ['x'], after })).jobs[0]!
    await client.jobs.setPriority({ ids: [id], priority: 2 })
    await client.jobs.cancel({ ids: [firstId] })
    expect(await limited.jobs.get({ id })).toEqual(await client.jobs.get({ id }))
  })

  it('a job that a chain of another project started names neither', async () => {
    const { client, limited, node, until } = await openWithLimitedUser({ shop: 'viewer' })
    const run = { project: 'shop', spiders: ['x'] }
    await client.chains.create({ name: 'quiet-chain', project: 'news', spider: '*', on: 'ended', run })
    const { id: newsId } = (await client.jobs.run({ project: 'news', spiders: ['quiet-spider'] })).jobs[0]!
    await until(async () => node.running.length > 0)
    node.endAll()
    await until(async () => (await client.jobs.list({ project: 'shop' })).jobs.length > 0)
    const { id } = (await client.jobs.list({ project: 'shop' })).jobs[0]!
    const seen = await limited.jobs.get({ id })
    expect(seen.timeline[0]).toMatchObject({ text: 'Queued by a chain', evidence: {} })
    expect(JSON.stringify(seen)).not.toMatch(new RegExp(`quiet|news|${newsId}`))
    expect(JSON.stringify(await client.jobs.get({ id }))).toContain('quiet-chain')
  })

  it('a job that was moved before one of another project does not name it', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'viewer' })
    const { id: newsId } = (await client.jobs.run({ project: 'news', spiders: ['x'], ...LATER })).jobs[0]!
    const { id } = (await client.jobs.run({ project: 'shop', spiders: ['x'], ...LATER })).jobs[0]!
    await client.jobs.reorder({ ids: [id], to: { before: newsId } })
    const { timeline } = await limited.jobs.get({ id })
    expect(timeline.at(-1)!.text).toBe('Moved before another job')
  })

  it('the change feed has no more facts about a job', async () => {
    const { client, limited, clock } = await openWithLimitedUser({ shop: 'viewer' })
    const { id: newsId } = (await client.jobs.run({ project: 'news', spiders: ['x'], ...LATER })).jobs[0]!
    const stopping = new AbortController()
    const seen: unknown[] = []
    const feed = await limited.events.subscribe({ after: `0.${'a'.repeat(6)}.0` }, { signal: stopping.signal })
    const reading = (async () => {
      for await (const { changes } of feed) seen.push(...changes)
    })().catch(() => {})
    const after = [{ jobId: newsId, on: 'ended' as const }]
    await client.jobs.run({ project: 'shop', spiders: ['waiting'], after })
    for (let passes = 0; passes < 20 && !JSON.stringify(seen).includes('"waiting"'); passes += 1) {
      await clock.advanceBy(300)
      await new Promise((resolve) => setImmediate(resolve))
    }
    stopping.abort()
    await reading
    expect(JSON.stringify(seen)).toContain('waits until another job has ended')
    expect(JSON.stringify(seen)).not.toContain(newsId)
  })

  it('a schedule that was moved here shows only the runs since then', async () => {
    const { client, limited, clock } = await openWithLimitedUser({ shop: 'operator' })
    const news = [{ project: 'news', spiders: ['x'] }]
    const { id } = (await client.schedules.create({ ...TIMING, jobs: news })).schedule
    await client.schedules.runNow({ id })
    await clock.advanceBy(1_000)
    const { id: newsId } = (await client.jobs.list({ project: 'news' })).jobs[0]!
    await client.schedules.update({ ...TIMING, id, jobs: [{ project: 'shop', spiders: ['x'] }] })
    const answers = async () => [
      (await limited.schedules.get({ id })).recent,
      (await limited.schedules.list({})).schedules[0]!.recent,
      (await limited.schedules.setPaused({ ids: [id], paused: false, note: null })).schedules[0]!.recent,
      (await limited.schedules.firings({})).firings,
      (await limited.schedules.firings({ scheduleId: id })).firings
    ]
    expect(await answers()).toEqual([[], [], [], [], []])
    await clock.advanceBy(1_000)
    await limited.schedules.runNow({ id })
    expect((await answers()).map((firings) => firings.length)).toEqual([1, 1, 1, 1, 1])
    // An owner also sees the firing of news.
    const all = JSON.stringify((await client.schedules.firings({})).firings)
    expect(all).toContain(newsId)
  })
})
