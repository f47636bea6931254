import { writeFileSync } from 'node:fs'
import { chainSpiders } from '../stories/chains.ts'
import { startReceiver, tellAReceiver } from '../stories/webhooks.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { expect, test } from './browser-test.ts'

test('chains run follow-up jobs or say why they cannot; a receiver gets events and test messages, and failed deliveries are repeated', async ({
  page,
  serve
}, testInfo) => {
  const configuration = testInfo.outputPath('scrapyd.conf')
  writeFileSync(configuration, '[scrapdeck]\nwebhook_networks = 127.0.0.1\n')
  const service = await serve({ localSlots: 2, arguments: ['--config', configuration] })
  await uploadDemo(service, 'v1')
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await chainSpiders(page, service.client)
  const receiver = await startReceiver()
  await tellAReceiver(page, service.client, receiver).finally(() => receiver.stop())
})
