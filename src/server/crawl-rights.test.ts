import { expect, it } from 'vitest'
import { openWithLimitedUser } from './testing/limited-client.ts'

it('an operator can order crawls with or without the HTTP cache, once and repeatedly, and change that', async () => {
  const { limited } = await openWithLimitedUser({ shop: 'operator' })
  const order = { project: 'shop', spider: 'x' }
  for (const cache of [{ ignore_cache: true }, { http_cache: true }, { http_cache: false }]) {
    expect(await limited.crawl({ ...order, ...cache })).toMatchObject({ status: 200 })
    expect(await limited.crawl({ ...order, ...cache, interval: 3_600 })).toMatchObject({ status: 202 })
  }
  const [one] = (await limited.crawlOrders.list({})).orders
  const id = one!.schedule_id!
  expect(await limited.crawlOrders.update({ id, http_cache: true })).toMatchObject({ http_cache: true })
  // The same setting in a run still requires a deployer.
  const settings = { HTTPCACHE_ENABLED: 'True' }
  await expect(limited.jobs.run({ project: 'shop', spiders: ['x'], settings })).rejects.toMatchObject({
    code: 'ROLE_REQUIRED'
  })
})
