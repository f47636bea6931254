import { describe, expect, it } from 'vitest'
import { keyOf } from '../engine/api/commands/crawl-order.ts'
import { branded } from '../shared/testing/ids.ts'
import { openWithLimitedUser } from './testing/limited-client.ts'

const KEY = { key: 'daily', ttlSeconds: 1_000 }
const news = { project: 'news', spiders: ['x'], dedupe: KEY }
const shop = { ...news, project: 'shop' }

describe('a dedupe key that a job of another project has', () => {
  it('still creates a job, which is found and shown by its key', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'operator' })
    const [other] = (await client.jobs.run(news)).jobs
    const [own] = (await limited.jobs.run(shop)).jobs
    expect(own).toMatchObject({ project: 'shop', dedupeKey: 'daily' })
    const { ids } = await limited.jobs.runMany({ jobs: [{ project: 'shop', spider: 'x', dedupe: KEY }] })
    expect(ids).toEqual([own!.id])
    expect((await client.jobs.run(news)).jobs).toEqual([expect.objectContaining({ id: other!.id, dedupeKey: 'daily' })])
  })

  it('is not taken away from that job when another project renews the key', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'operator' })
    const [other] = (await client.jobs.run(news)).jobs
    await limited.jobs.run({ ...shop, dedupe: { ...KEY, renew: true } })
    expect((await client.jobs.run(news)).jobs[0]!.id).toBe(other!.id)
  })
})

it.each(['news', 'shop'])('a client of shop does not take over the key of a crawl order of %s', async (project) => {
  const { client, limited } = await openWithLimitedUser({ shop: 'operator' })
  const order = { project, spider: 'x', start_urls: ['https://a.example'] }
  const key = `crawl:${keyOf({ ...order, project: branded(project), user_id: null, zone: 'UTC', atMs: null })}`
  const [taken] = (await limited.jobs.run({ ...shop, dedupe: { ...KEY, key } })).jobs
  const { body } = await client.crawl(order)
  const { job } = await client.jobs.get({ id: branded(String(body.job_id)) })
  expect(job).toMatchObject({ project, dedupeKey: key })
  expect(job.id).not.toBe(taken!.id)
})
