import { uploadDemo } from '../support/demo-egg.ts'
import { readTheWeek, spreadTheLoad } from '../stories/schedules-ahead.ts'
import { expect, test } from './browser-test.ts'

// A half-hour offset reveals bugs that whole hours hide.
test.use({ timezoneId: 'Asia/Kolkata' })

test('the week ahead shows runs at their times, and a crowded minute can be spread and restored', async ({
  page,
  serve
}) => {
  const service = await serve({ localSlots: 2 })
  await uploadDemo(service, 'v1')
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await readTheWeek(page, service.client)
  await spreadTheLoad(page, service.client)
})
