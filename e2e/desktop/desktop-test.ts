import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, type Page, test as base } from '@playwright/test'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { keepLearnedModules, lendLearnedModules } from '../../src/engine/testing/learned-modules.ts'
import { readCredentials } from '../../src/engine/runtime/credentials-file.ts'
import { openScreen } from '../stories/first-run.ts'
import { until } from '../../src/engine/testing/until.ts'
import { type Desktop, type DesktopOptions, launchDesktop } from '../support/desktop.ts'
import { type Client, connectClient, endLocalSpiders } from '../support/service.ts'

export { expect } from '@playwright/test'

const DOOR_LIMIT_MS = 60_000

/** For tests without spiders: a local node costs two Python processes that import Scrapy. */
export const WITHOUT_LOCAL_NODE = { SCRAPDECK_LOCAL_SLOTS: '0' }

interface DesktopFixtures {
  userData: string
  /** Starts the built app and stops it after the test. */
  launch: (options?: Partial<DesktopOptions>) => Promise<Desktop>
  desktop: Desktop
  window: Page
}

/**
 * Starting the app means a browser, an engine and two Python processes, so tests that restore the app's state share
 * one app.
 */
interface SharedFixtures {
  shared: { desktop: Desktop; userData: string }
}

export const test = base.extend<DesktopFixtures, SharedFixtures>({
  shared: [
    // Empty but necessary: Playwright reads the fixtures' names from this pattern.
    async ({}, use) => {
      const userData = mkdtempSync(join(tmpdir(), 'scrapdeck-desktop-'))
      const desktop = await startDesktop({ userData })
      await use({ desktop, userData })
      await endDesktop(desktop, userData)
      rmSync(userData, { recursive: true, force: true, maxRetries: 5 })
    },
    { scope: 'worker' }
  ],
  // Empty but necessary: Playwright reads the fixtures' names from this pattern.
  userData: async ({}, use) => {
    const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-desktop-'))
    await use(directory)
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  },
  launch: async ({ userData }, use, testInfo) => {
    const launched: Desktop[] = []
    await use(async (options = {}) => {
      const desktop = await startDesktop({ userData, ...options })
      launched.push(desktop)
      return desktop
    })
    for (const desktop of launched) {
      if (testInfo.status !== testInfo.expectedStatus) await attachEvidence(desktop, testInfo.attach.bind(testInfo))
      await endDesktop(desktop, userData)
    }
  },
  desktop: async ({ launch }, use) => use(await launch()),
  window: async ({ desktop }, use) => use(await desktop.window())
})

/**
 * `desktop`, `window` and `userData` belong to one app that earlier tests can have used. It shows Overview, and no
 * job is running, but projects and jobs can exist. A failing test ends the app, and the next test starts a new one.
 */
export const sharedTest = test.extend({
  userData: async ({ shared }, use) => use(shared.userData),
  desktop: async ({ shared: { desktop, userData } }, use, testInfo) => {
    await use(desktop)
    if (testInfo.status !== testInfo.expectedStatus) return attachEvidence(desktop, testInfo.attach.bind(testInfo))
    const door = await findDoor(userData)
    await door?.client.system.setPaused({ paused: false })
    if (door) await endLocalSpiders(door.client)
  },
  window: async ({ desktop }, use) => {
    const window = await desktop.window()
    // An earlier test can have left a dialog open.
    if ((await window.getByRole('dialog').count()) > 0) await window.reload()
    await openScreen(window, 'Overview')
    await use(window)
  }
})

/** Answers later questions with the button whose label matches, and records the questions. */
export async function answerQuestions(desktop: Desktop, label: string): Promise<void> {
  await desktop.evaluate(({ dialog }, pattern) => {
    const asked: { message: string; buttons: string[] }[] = []
    Object.assign(globalThis, { askedQuestions: asked })
    dialog.showMessageBox = (async (options: { message: string; buttons?: string[] }) => {
      const buttons = options.buttons ?? []
      asked.push({ message: options.message, buttons })
      return { response: buttons.findIndex((button) => new RegExp(pattern).test(button)), checkboxChecked: false }
    }) as typeof dialog.showMessageBox
  }, label)
}

export const askedQuestions = (desktop: Desktop) =>
  desktop.evaluate(
    () => (globalThis as unknown as { askedQuestions: { message: string; buttons: string[] }[] }).askedQuestions
  )

export async function quit(desktop: Desktop): Promise<void> {
  await desktop.evaluate(({ app }) => void setTimeout(() => app.quit(), 50))
  expect(await desktop.exited).toBe(0)
}

function startDesktop(options: DesktopOptions): Promise<Desktop> {
  // Does not overwrite data that the test has put into the directory.
  if (!existsSync(join(options.userData, 'data'))) lendLearnedModules(join(options.userData, 'data/local'))
  const environment = { SCRAPDECK_PYTHON: readTestEnvironment().python, ...options.environment }
  return launchDesktop({ ...options, environment })
}

async function endDesktop(desktop: Desktop, userData: string): Promise<void> {
  const door = await findDoor(userData)
  if (door) await endLocalSpiders(door.client)
  await desktop.close()
  keepLearnedModules(join(userData, 'data/local'))
}

type Attach = (name: string, options: { body: string | Buffer; contentType: string }) => Promise<void>

async function attachEvidence(desktop: Desktop, attach: Attach): Promise<void> {
  await attach('main process', { body: desktop.output(), contentType: 'text/plain' })
  for (const page of desktop.pages()) {
    // A closed page has no screenshot. The output above is attached in any case.
    const picture = await page.screenshot({ timeout: 5_000 }).catch(() => null)
    if (picture) await attach('window', { body: picture, contentType: 'image/png' })
  }
}

/** Finds this desktop's HTTP server (port 6800 or one from 6810 on) by its credentials. null: it is closed. */
export async function findDoor(userData: string): Promise<{ address: string; client: Client } | null> {
  const credentials = readCredentials(join(userData, 'data'))
  if (!credentials) return null
  for (const port of [6800, ...Array.from({ length: 20 }, (_, index) => 6810 + index)]) {
    const address = `http://127.0.0.1:${port}`
    const client = connectClient(address, credentials)
    const isOurs = await client.users.me().then(
      () => true,
      // No server listens, or it is another program or a Scrapdeck that does not know this password.
      () => false
    )
    if (isOurs) return { address, client }
  }
  return null
}

export async function untilDoor(userData: string): Promise<{ address: string; client: Client }> {
  const door = await until('the door', () => findDoor(userData), Boolean, DOOR_LIMIT_MS)
  return door!
}
