import { freePort } from '../../src/engine/testing/server-process.ts'
import { CLIENT_ID, CLIENT_SECRET, openIdentityProvider } from '../../src/server/testing/identity-provider.ts'
import { expect, test } from './browser-test.ts'

test('a user signs in with a real identity provider, has the role of the group, and logs out of both', async ({
  page,
  serve
}) => {
  const port = await freePort()
  const deck = `http://127.0.0.1:${port}`
  const provider = await openIdentityProvider({
    people: [
      { sub: 'anna-7', name: 'anna', groups: ['crawlers'] },
      { sub: 'ben-8', name: 'ben', groups: ['everybody'] }
    ],
    redirectUris: [`${deck}/ui/login/oidc/callback`]
  })
  try {
    await serve({
      localSlots: 0,
      arguments: ['--port', String(port)],
      environment: {
        SCRAPDECK_OIDC_ISSUER: provider.issuer,
        SCRAPDECK_OIDC_CLIENT_ID: CLIENT_ID,
        SCRAPDECK_OIDC_CLIENT_SECRET: CLIENT_SECRET,
        SCRAPDECK_OIDC_SCOPES: 'openid profile groups',
        SCRAPDECK_OIDC_ROLES: 'crawlers = operator',
        SCRAPDECK_OIDC_LABEL: 'Example ID'
      }
    })
    const signInAs = async (person: string) => {
      await page.getByRole('link', { name: 'Log in with Example ID' }).click()
      await page.getByPlaceholder('Enter any login').fill(person)
      await page.getByPlaceholder('and password').fill('any')
      await page.getByRole('button', { name: 'Sign-in' }).click()
      await page.getByRole('button', { name: 'Continue' }).click()
    }
    await page.goto(`${deck}/ui/login#/access`)
    await page.screenshot({ path: '.cache/screenshots/login-with-provider.png' })
    await signInAs('anna-7')
    await expect(page.getByRole('heading', { name: 'Users & access' })).toBeVisible()
    const account = page.locator('section', { has: page.getByRole('heading', { name: 'Your account' }) })
    await expect(account).toContainText('anna')
    await expect(account).toContainText('operator')
    await expect(account.getByRole('button', { name: 'Change password…' })).toHaveCount(0)
    const session = page.getByRole('table', { name: 'Browser sessions' }).getByRole('row', { name: /this browser/ })
    await expect(session).toContainText('identity provider')
    await page.screenshot({ path: '.cache/screenshots/access-of-anna.png' })

    await session.getByRole('button', { name: 'Log out of this browser' }).click()
    await page.getByRole('button', { name: /Yes, sign me out/ }).click()
    await expect(page.getByRole('link', { name: 'Log in with Example ID' })).toBeVisible()
    await page.goto(`${deck}/ui/`)
    await expect(page).toHaveURL(`${deck}/ui/login`)

    await signInAs('ben-8')
    await expect(page.getByRole('alert')).toContainText('None of the groups of ben has a role in this Scrapdeck')
    await page.screenshot({ path: '.cache/screenshots/login-refused.png' })
    await page.getByLabel('User name').fill('tester')
    await page.getByLabel('Password').fill('a password for tests')
    await page.getByRole('button', { name: 'Log in' }).click()
    await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
  } finally {
    await provider.stop()
  }
})
