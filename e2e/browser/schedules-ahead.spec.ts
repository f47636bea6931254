import { uploadDemo } from '../support/demo-egg.ts'
import { readTheWeek, spreadTheLoad } from '../stories/schedules-ahead.ts'
import { expect, test } from './browser-test.ts'

// Half hours show what a whole hour hides.
test.use({ timezoneId: 'Asia/Kolkata' })

test('the week ahead has its runs at their times, and a crowded minute is spread and put back', async ({
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
