import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from '@playwright/test'
import { expect, test, untilDoor, WITHOUT_LOCAL_NODE } from '../desktop/desktop-test.ts'
import { startService, TEST_CREDENTIALS } from '../support/service.ts'
import { aCertificate } from '../support/a-certificate.ts'

const pictures = resolve(import.meta.dirname, '../../.cache/screenshots')

async function take(window: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await window.emulateMedia({ colorScheme })
    await window.screenshot({ path: join(pictures, `remote-${name}-${colorScheme}-1440.png`) })
  }
}

test('the desktop with a remote engine', async ({ launch, userData }) => {
  mkdirSync(pictures, { recursive: true })
  const certificate = aCertificate(join(userData, 'certificates'), 'deck')
  const service = await startService({
    // The local node's own client would not trust the certificate.
    localSlots: 0,
    environment: { SCRAPDECK_TLS_CERTIFICATE: certificate.path, SCRAPDECK_TLS_KEY: certificate.key }
  })
  try {
    const window = await (await launch({ environment: WITHOUT_LOCAL_NODE })).window()
    await untilDoor(userData)
    const menu = window.getByRole('banner').getByRole('button', { name: /^Engine: / })
    const dialog = window.getByRole('dialog')
    await menu.click()
    await window.getByRole('menuitem', { name: 'Add engine…' }).click()
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('EU production')
    await dialog.getByRole('textbox', { name: 'Address' }).fill(service.address)
    await dialog.getByText('User name and password').click()
    await dialog.getByRole('textbox', { name: 'User name' }).fill(TEST_CREDENTIALS.username)
    await dialog.getByRole('textbox', { name: 'Password' }).fill(TEST_CREDENTIALS.password)
    await dialog.getByRole('radio', { name: 'violet' }).click()
    await take(window, 'add')
    await dialog.getByRole('button', { name: 'Add engine' }).click()
    await dialog.getByRole('checkbox', { name: 'Trust this certificate' }).check()
    await take(window, 'certificate')
    await dialog.getByRole('button', { name: 'Add engine' }).click()
    await expect(menu).toHaveAccessibleName('Engine: EU production')
    await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
    await menu.click()
    await window.getByRole('menuitem', { name: 'This computer' }).waitFor()
    await take(window, 'menu')
    await window.keyboard.press('Escape')
    await service.kill()
    await window.getByText('has been offline').waitFor()
    await take(window, 'offline')
  } finally {
    await service.stop()
  }
})
