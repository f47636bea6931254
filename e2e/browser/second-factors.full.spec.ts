import type { Page } from '@playwright/test'
import { Secret, TOTP } from 'otpauth'
import type { Service } from '../support/service.ts'
import { expect, test } from './browser-test.ts'

const PASSWORD = 'kestrel amber drawbridge'
const STEP_MS = 30_000

/** Starts the service with the viewer anna, under the host name that passkeys need. */
async function openWithAnna(serve: () => Promise<Service>) {
  const service = await serve()
  await service.client.users.create({ name: 'anna', role: 'viewer', password: PASSWORD })
  return { service, deck: service.address.replace('127.0.0.1', 'localhost') }
}

async function enterPassword(page: Page, deck: string) {
  await page.goto(`${deck}/ui/login#/access`)
  await page.getByLabel('User name').fill('anna')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
}

async function logOut(page: Page, deck: string) {
  await page.context().clearCookies()
  await page.goto(`${deck}/ui/`)
  await expect(page).toHaveURL(/\/ui\/login/)
}

const ways = (page: Page) => page.getByRole('table', { name: 'Sign-in' })
const picture = (page: Page, name: string) => page.screenshot({ path: `.cache/screenshots/${name}.png` })

test('a user sets up an authenticator app, logs in with its code, and with a recovery code after losing it', async ({
  page,
  serve
}) => {
  const { deck } = await openWithAnna(() => serve({ localSlots: 0 }))
  await enterPassword(page, deck)
  await page.getByRole('button', { name: 'Set up an authenticator app…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Current password').fill(PASSWORD)
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await expect(dialog.getByRole('img', { name: /^QR code/ })).toBeVisible()
  const secret = (await dialog.getByText(/^[A-Z2-7]{32}$/).textContent())!
  const codeAt = (atMs: number) => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: atMs })
  const firstMs = Date.now()
  await picture(page, 'sign-in-qr-code')
  await dialog.getByLabel('Code from the app').fill(codeAt(firstMs))
  await dialog.getByRole('button', { name: 'Turn on' }).click()
  await expect(dialog.getByRole('listitem')).toHaveCount(10)
  const recoveryCode = (await dialog.getByRole('listitem').first().textContent())!
  await picture(page, 'sign-in-recovery-codes')
  await dialog.getByRole('button', { name: 'I have saved them' }).click()
  await expect(ways(page)).toContainText('10 left')

  await logOut(page, deck)
  await enterPassword(page, deck)
  await expect(page.getByRole('heading', { name: 'Enter the code' })).toBeVisible()
  await picture(page, 'login-code')
  // The code used at setup is not accepted again.
  await page.getByLabel('Code').fill(codeAt(firstMs))
  await page.getByRole('button', { name: 'Log in' }).click()
  await expect(page.getByRole('alert')).toContainText('This code is wrong, or was used before.')
  // The code of the next step is already accepted, because a phone's clock can be ahead.
  await page.getByLabel('Code').fill(codeAt(firstMs + STEP_MS))
  await page.getByRole('button', { name: 'Log in' }).click()
  await expect(ways(page)).toContainText('Needs a code as well')

  await logOut(page, deck)
  await enterPassword(page, deck)
  await page.getByLabel('Code').fill(recoveryCode)
  await page.getByRole('button', { name: 'Log in' }).click()
  await expect(ways(page)).toContainText('9 left')
})

test('if everyone needs a second factor, the requested page opens after the app is set up', async ({ page, serve }) => {
  const environment = { SCRAPDECK_REQUIRE_SECOND_FACTOR: 'on' }
  const { deck } = await openWithAnna(() => serve({ localSlots: 0, environment }))
  await enterPassword(page, deck)
  await expect(page.getByRole('heading', { name: 'Set up an authenticator app' })).toBeVisible()
  const secret = (await page.locator('code').textContent())!
  await page.getByLabel('Code').fill('000000')
  await page.getByRole('button', { name: 'Turn on and log in' }).click()
  await expect(page.getByRole('alert')).toContainText('This code is wrong')
  await page.getByLabel('Code').fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate())
  await page.getByRole('button', { name: 'Turn on and log in' }).click()
  await expect(page.getByRole('heading', { name: 'Save your recovery codes' })).toBeVisible()
  await page.getByRole('button', { name: 'I have saved them' }).click()
  await expect(ways(page)).toContainText('10 left')
  expect(new URL(page.url()).hash).toBe('#/access')
})

test('a user adds a passkey and logs in with it alone; once it is removed, it is refused', async ({ page, serve }) => {
  const { deck } = await openWithAnna(() => serve({ localSlots: 0 }))
  const problems: string[] = []
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true
    }
  })
  await enterPassword(page, deck)
  await page.getByRole('button', { name: 'Add a passkey…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('laptop')
  await dialog.getByLabel('Current password').fill(PASSWORD)
  await dialog.getByRole('button', { name: 'Add passkey' }).click()
  await expect(ways(page).getByRole('row', { name: /^Passkey laptop/ })).toContainText('localhost')
  await picture(page, 'sign-in-passkey')

  await logOut(page, deck)
  await page.goto(`${deck}/ui/login#/access`)
  // The page was logged out, so its requests were refused.
  problems.length = 0
  await picture(page, 'login-passkey')
  const logIn = page.getByRole('button', { name: 'Log in with a passkey' })
  await logIn.click()
  await expect(ways(page)).toBeVisible()
  const sessions = page.getByRole('table', { name: 'Browser sessions' })
  await expect(sessions.getByRole('row', { name: /this browser/ })).toContainText('passkey')

  await page.getByRole('button', { name: 'Remove the passkey laptop…' }).click()
  await dialog.getByLabel('Current password').fill(PASSWORD)
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await expect(ways(page)).not.toContainText('laptop')
  expect(problems).toEqual([])
  await logOut(page, deck)
  await expect(logIn).toHaveCount(0)
})

test('at an address without a name, the page says at which address passkeys work', async ({ page, serve }) => {
  const { service } = await openWithAnna(() => serve({ localSlots: 0 }))
  await enterPassword(page, service.address)
  await expect(ways(page)).toContainText(`open ${service.address.replace('127.0.0.1', 'localhost')}/ui/`)
})
