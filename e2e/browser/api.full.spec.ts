import { expect, test } from './browser-test.ts'

test('the API can be read and tried in the browser, served only by the built service; its guide is one link away', async ({
  page,
  serve
}) => {
  // Swagger UI is slow on a shared machine.
  test.setTimeout(180_000)
  // Starts the built service, which must find its files from out/ as it does from src/.
  const service = await serve({ localSlots: 0, entry: 'out/service/scrapdeck.js' })
  const elsewhere: string[] = []
  const refused: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(service.address) && !/^(data|blob):/.test(request.url()))
      elsewhere.push(request.url())
  })
  // Violations of the page's content security policy appear in the console.
  page.on('console', (message) => message.type() === 'error' && refused.push(message.text()))
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  refused.length = 0
  await page.goto(`${service.address}/api#/jobs/jobs.facets`)
  const execute = page.getByRole('button', { name: 'Execute' })
  await expect(execute).toBeVisible({ timeout: 90_000 })
  await execute.click({ timeout: 60_000 })
  const answer = page.locator('.live-responses-table')
  await expect(answer).toContainText('200', { timeout: 60_000 })
  await expect(answer).toContainText('"nodeId": []')
  expect(refused).toEqual([])

  const body = page.locator('body')
  await expect(body).toHaveCSS('background-color', 'rgb(250, 250, 250)')
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect(body).toHaveCSS('background-color', 'rgb(14, 17, 21)')

  await page.getByRole('link', { name: 'Guide' }).first().click()
  await expect(page.getByRole('heading', { name: 'The API', exact: true })).toBeVisible()
  await page.getByRole('link', { name: 'errors.md' }).click()
  await expect(page.getByText('IDEMPOTENCY_CUT_OFF')).toBeVisible()
  await page.goto(`${service.address}/docs`)
  await page
    .getByRole('link', { name: /schedules/i })
    .first()
    .click()
  await expect(page.getByRole('heading', { level: 1 })).toContainText(/schedules/i)
  expect(refused).toEqual([])
  expect(elsewhere).toEqual([])
})
