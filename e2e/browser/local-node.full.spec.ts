import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { giveAProjectItsOwnPython, lookAtTheLocalNode, runUnderLimits } from '../stories/local-node.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { expect, test } from './browser-test.ts'

test('the local node takes limits, a secret and a Python of its own, and shows memory and CPU of a run', async ({
  page,
  serve
}) => {
  test.setTimeout(180_000)
  const service = await serve()
  await uploadDemo(service, 'v1')
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await runUnderLimits(page, service.client)
  await giveAProjectItsOwnPython(page, readTestEnvironment().python ?? '')
  await lookAtTheLocalNode(page)
})
