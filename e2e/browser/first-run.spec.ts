import { runTheDemo } from '../stories/first-run.ts'
import { expect, test } from './browser-test.ts'

test('first run: from the link in the terminal to a finished demo job with its live log', async ({ page, serve }) => {
  const service = await serve()
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  expect(page.url()).not.toContain('token')
  await runTheDemo(page)
})
