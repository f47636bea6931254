import { rollBack, runAndCancel, runWithDefaults } from '../stories/one-click.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { expect, test } from './browser-test.ts'

test('a rollback, a run with the last arguments and a cancel take one click each, and can be undone', async ({
  page,
  serve
}) => {
  const service = await serve()
  await uploadDemo(service, 'v1')
  await uploadDemo(service, 'v2')
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await runWithDefaults(page, service.client)
  await rollBack(page)
  await runAndCancel(page, service.client)
})
