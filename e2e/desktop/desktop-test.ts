import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Page, test as base } from '@playwright/test'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { readCredentials } from '../../src/engine/runtime/credentials-file.ts'
import { type Desktop, type DesktopOptions, launchDesktop } from '../support/desktop.ts'
import { type Client, connectClient, endLocalSpiders } from '../support/service.ts'

export { expect } from '@playwright/test'

interface DesktopFixtures {
  /** A userData folder of this test's own. */
  userData: string
  /** Starts the built app; ended after the test. */
  launch: (options?: Partial<DesktopOptions>) => Promise<Desktop>
  desktop: Desktop
  window: Page
}

export const test = base.extend<DesktopFixtures>({
  // Empty, but needed: Playwright reads the names of fixtures from this pattern
  userData: async ({}, use) => {
    const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-desktop-'))
    await use(directory)
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  },
  launch: async ({ userData }, use, testInfo) => {
    const launched: Desktop[] = []
    await use(async (options = {}) => {
      const desktop = await launchDesktop({
        userData,
        ...options,
        environment: { SCRAPDECK_PYTHON: readTestEnvironment().python, ...options.environment }
      })
      launched.push(desktop)
      return desktop
    })
    for (const desktop of launched) {
      if (testInfo.status !== testInfo.expectedStatus) await attachEvidence(desktop, testInfo.attach.bind(testInfo))
      const door = await findDoor(userData)
      if (door) await endLocalSpiders(door.client)
      await desktop.close()
    }
  },
  desktop: async ({ launch }, use) => use(await launch()),
  window: async ({ desktop }, use) => use(await desktop.window())
})

type Attach = (name: string, options: { body: string | Buffer; contentType: string }) => Promise<void>

async function attachEvidence(desktop: Desktop, attach: Attach): Promise<void> {
  await attach('main process', { body: desktop.output(), contentType: 'text/plain' })
  for (const page of desktop.pages()) {
    // A page that is gone by now has no picture; the output above remains.
    const picture = await page.screenshot({ timeout: 5_000 }).catch(() => null)
    if (picture) await attach('window', { body: picture, contentType: 'image/png' })
  }
}

/**
 * The HTTP door of this desktop: on port 6800 or one from 6810 on, and it alone knows its credentials. null once it is
 * closed.
 */
export async function findDoor(userData: string): Promise<{ address: string; client: Client } | null> {
  const credentials = readCredentials(join(userData, 'data'))
  if (!credentials) return null
  for (const port of [6800, ...Array.from({ length: 20 }, (_, index) => 6810 + index)]) {
    const address = `http://127.0.0.1:${port}`
    const client = connectClient(address, credentials)
    const isOurs = await client.system.credentials().then(
      ({ password }) => password === credentials.password,
      // Nobody there, another program, or another Scrapdeck that does not know this password.
      () => false
    )
    if (isOurs) return { address, client }
  }
  return null
}
