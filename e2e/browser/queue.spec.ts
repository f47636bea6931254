import { limitRuns, pauseAProject, retryWhatFails, runElsewhere } from '../stories/queue.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { type Scrapyd, startScrapydFleet } from '../support/scrapyd-fleet.ts'
import { expect, test } from './browser-test.ts'

let scrapyds: Scrapyd[] = []

test.beforeAll(async () => {
  scrapyds = await startScrapydFleet(Array.from({ length: 2 }, () => ({ maxProc: 4, pollIntervalSeconds: 0.1 })))
})

test.afterAll(async () => {
  await Promise.all(scrapyds.map((scrapyd) => scrapyd.stop()))
})

test('a limit, a pause, a retry and a dying node each say why a job waits and what to do', async ({ page, serve }) => {
  test.setTimeout(240_000)
  const service = await serve({ localSlots: 0 })
  for (const [index, { url }] of scrapyds.entries()) {
    await service.client.nodes.add({ url, name: `node-${index + 1}`, slots: 4 })
  }
  await uploadDemo(service, 'v1')
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await limitRuns(page, service.client)
  await pauseAProject(page, service.client)
  await retryWhatFails(page)
  await runElsewhere(page, scrapyds[0]!, service.client)
})
