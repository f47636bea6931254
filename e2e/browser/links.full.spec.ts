import { TEST_CREDENTIALS } from '../support/service.ts'
import { expect, test } from './browser-test.ts'

test('the link works once; without it, the page asks for the credentials and then opens the page that was requested', async ({
  page,
  browser,
  serve
}) => {
  const service = await serve({ localSlots: 0 })
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()

  const stranger = await (await browser.newContext()).newPage()
  await stranger.goto(service.loginLink())
  await expect(stranger.getByText('already used')).toBeVisible()
  await stranger.goto(`${service.address}/ui/#/schedules`)
  await expect(stranger).toHaveURL(/\/ui\/login/)
  const { username, password } = TEST_CREDENTIALS
  await stranger.getByLabel(/user/i).fill(username)
  await stranger.getByLabel(/password/i).fill(password)
  await stranger.getByRole('button').click()
  await expect(stranger).toHaveURL(/\/ui\/#\/schedules/)
  await expect(stranger.getByRole('heading', { name: 'Schedules' })).toBeVisible()
  await stranger.context().close()
})

test('no web page of another origin can reach the service with the browser’s session', async ({ page, serve }) => {
  const service = await serve({ localSlots: 0 })
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  // Files of spiders share the app's origin, but no page can run them.
  const [script] = await Promise.all([
    page.waitForResponse(/\/items\/evil\.js/),
    page.evaluate(() => {
      const element = document.createElement('script')
      element.src = '/items/evil.js'
      document.head.append(element)
    })
  ])
  expect(script.status()).toBe(403)
  // Another name of the same machine is a different origin, and the closest that a hostile page can get.
  await page.route('http://hostile.localhost/', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<h1>hostile</h1>' })
  )
  await page.goto('http://hostile.localhost/')
  const before = await service.client.jobs.list({})
  const outcome = await page.evaluate(async (address) => {
    const form = new URLSearchParams({ project: 'demo', spider: 'quotes' })
    const tries = [
      fetch(`${address}/api/rpc/system/runDemo`, { method: 'POST', credentials: 'include', body: '{}' }),
      fetch(`${address}/schedule.json`, { method: 'POST', credentials: 'include', mode: 'no-cors', body: form })
    ]
    return Promise.all(
      tries.map((each) =>
        each.then(
          ({ type, status }) => `${type} ${status}`,
          () => 'refused'
        )
      )
    )
  }, service.address)
  expect(outcome[0]).toBe('refused')
  expect(await service.client.jobs.list({})).toEqual(before)
})

test('a link on another page opens the app, still logged in; logging out everywhere ends it at once', async ({
  page,
  serve
}) => {
  const service = await serve({ localSlots: 0 })
  await page.goto(service.loginLink())
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  const linkedFrom = (path: string) => `<a href="${service.address}${path}">the link</a>`
  await page.route('http://tracker.example/**', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: linkedFrom(new URL(route.request().url()).searchParams.get('to')!)
    })
  )
  const follow = async (path: string) => {
    await page.goto(`http://tracker.example/?to=${encodeURIComponent(path)}`)
    await page.getByText('the link').click()
  }
  await follow('/jobs')
  await expect(page.getByRole('heading', { name: 'Jobs' })).toBeVisible()
  await follow('/schedule.json?project=demo')
  await expect(page.getByRole('heading', { name: 'Opened from another web page' })).toBeVisible()
  await follow('/ui/#/settings')
  await expect(page.getByRole('heading', { name: 'Settings' })).toBeVisible()

  await page.getByRole('button', { name: 'Log out everywhere' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Log out everywhere' }).click()
  await expect(page).toHaveURL(/\/ui\/login/)
  await follow('/ui/')
  await expect(page.getByRole('button', { name: 'Log in' })).toBeVisible()
})
