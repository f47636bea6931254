import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runTheDemo } from '../stories/first-run.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { appUrl, startSecondInstance } from '../support/desktop.ts'
import { readCredentials } from '../../src/engine/runtime/credentials-file.ts'
import { until } from '../../src/engine/testing/until.ts'
import { answerQuestions, expect, findDoor, quit, sharedTest, test } from './desktop-test.ts'

sharedTest('the window opens with the UI on its own origin', async ({ desktop, window }) => {
  await expect(window).toHaveTitle(/Scrapdeck/)
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  expect(window.url().startsWith(appUrl(desktop.kind))).toBe(true)
})

test('first run: the demo job runs to its end over the MessagePort transport; then the app quits without asking', async ({
  desktop,
  window
}) => {
  // The page can reach the engine only over its port, because the policy forbids network access.
  const blocked = await window.evaluate(async () => {
    const violation = new Promise<string>((resolve) => {
      document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective), { once: true })
      setTimeout(() => resolve('nothing was blocked'), 5_000)
    })
    await fetch('http://127.0.0.1:6800/health').catch(() => null)
    return violation
  })
  expect(blocked).toBe('connect-src')
  await runTheDemo(window)
  await answerQuestions(desktop, 'Cancel')
  await quit(desktop)
})

sharedTest('the page gets one transport and nothing of Node or Electron', async ({ window }) => {
  const found = await window.evaluate(() => ({
    bridge: Object.keys((globalThis as { scrapdeck?: object }).scrapdeck ?? {}).toSorted(),
    globals: ['require', 'process', 'module', 'Buffer', 'electron', 'ipcRenderer'].filter((name) => name in globalThis)
  }))
  expect(found).toEqual({ bridge: ['platform', 'requestWire'], globals: [] })
})

sharedTest('a reload gets a new transport, and the same screen appears again', async ({ window }) => {
  await expect(window.getByRole('status').filter({ hasText: 'Live' })).toBeVisible()
  await window.reload()
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await expect(window.getByRole('status').filter({ hasText: 'Live' })).toBeVisible()
})

sharedTest(
  "Scrapyd clients find the desktop's HTTP server, with its credentials only",
  async ({ window, userData }) => {
    await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
    const door = await findDoor(userData)
    expect(door).not.toBeNull()
    const authorization = basicAuthorization(readCredentials(join(userData, 'data'))!)
    const known = await fetch(`${door?.address}/daemonstatus.json`, { headers: { authorization } })
    expect(await known.json()).toMatchObject({ status: 'ok', running: 0 })
    expect((await fetch(`${door?.address}/daemonstatus.json`)).status).toBe(401)
  }
)

sharedTest('a second start shows the first window and exits', async ({ desktop, window, userData }) => {
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await desktop.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.minimize())
  expect(await startSecondInstance({ userData })).toBe(0)
  await expect
    .poll(() =>
      desktop.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().map((each) => each.isMinimized()))
    )
    .toEqual([false])
})

sharedTest('a deep link opens its job and nothing else', async ({ desktop, window, userData }) => {
  const door = await findDoor(userData)
  const id = (await door?.client.system.runDemo())?.job.id ?? ''
  const list = async () => (await door?.client.jobs.list({}))?.jobs ?? []
  const before = await until('the demo to end', list, (jobs) => jobs.every(({ state }) => state === 'ended'))
  await window.goto(appUrl(desktop.kind))
  expect(await startSecondInstance({ userData, arguments: [`scrapdeck://job/${id}`] })).toBe(0)
  await expect(window.getByRole('complementary', { name: 'Job' })).toContainText('quotes')
  expect(await list()).toEqual(before)
})

sharedTest(
  'closing the window keeps the engine; starting again brings the window back',
  async ({ desktop, window, userData }) => {
    await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
    await desktop.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close())
    await expect.poll(() => desktop.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(0)
    expect(await findDoor(userData)).not.toBeNull()
    expect(await startSecondInstance({ userData })).toBe(0)
    const again = await desktop.window()
    await expect(again.getByRole('heading', { name: 'Overview' })).toBeVisible()
  }
)

test('an unusable data directory prevents the start, with the reason', async ({ launch, userData }) => {
  writeFileSync(join(userData, 'data'), 'a file where a folder must be')
  const desktop = await launch()
  test.skip(desktop.kind === 'electron', 'a native error box waits for a click')
  expect(await desktop.exited).toBe(1)
  expect(desktop.output()).toContain('[error box] Scrapdeck could not start')
  expect(desktop.output()).toContain('data')
})
