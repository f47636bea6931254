import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { workWithAFleet } from '../stories/fleet.ts'
import { type Scrapyd, startScrapydFleet } from '../support/scrapyd-fleet.ts'
import { test } from './browser-test.ts'

let directory = ''
let touchFile = ''
let scrapyds: Scrapyd[] = []

test.beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'scrapdeck-specs-'))
  touchFile = join(directory, 'touched')
  writeFileSync(touchFile, '')
  scrapyds = await startScrapydFleet(Array.from({ length: 3 }, () => ({ environment: { DEMO_TOUCH_FILE: touchFile } })))
})

test.afterAll(async () => {
  await Promise.all(scrapyds.map((scrapyd) => scrapyd.stop()))
  rmSync(directory, { recursive: true, force: true })
})

test('three nodes are pasted, an egg is dropped, three spiders run at once, the page reloads meanwhile, and a job is cancelled', async ({
  page,
  serve
}) => {
  test.setTimeout(120_000)
  const service = await serve({ environment: { DEMO_TOUCH_FILE: touchFile } })
  await page.goto(service.loginLink())
  await workWithAFleet(page, { urls: scrapyds.map(({ url }) => url), client: service.client, touchFile })
})
