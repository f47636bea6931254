import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, WITHOUT_LOCAL_NODE } from '../desktop/desktop-test.ts'
import type { Desktop } from '../support/desktop.ts'

const environment = WITHOUT_LOCAL_NODE

const boundsOf = (desktop: Desktop) =>
  desktop.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]!.getBounds())

test('four starts show the window at the same place', async ({ launch }) => {
  const places: object[] = []
  for (let start = 0; start < 4; start += 1) {
    const desktop = await launch({ environment })
    const window = await desktop.window()
    // The window manager moves a new window within this time.
    await window.waitForTimeout(1_500)
    places.push(await boundsOf(desktop))
    await desktop.close()
  }
  expect(places).toEqual([places[0], places[0], places[0], places[0]])
})

test('a maximised window, the full screen and the last screen are restored', async ({ launch, userData }) => {
  const first = await launch({ environment })
  const window = await first.window()
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeVisible()
  await window.getByRole('link', { name: 'Queue' }).click()
  await first.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]!.maximize())
  const path = join(userData, 'window.json')
  // It is written a moment after the first change.
  const saved = () => (existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as object) : null)
  await expect.poll(saved).toMatchObject({ maximized: true, view: '#/queue' })
  await first.close()

  const second = await launch({ environment })
  await expect((await second.window()).getByRole('heading', { name: 'Queue' })).toBeVisible()
  const isMaximized = () => second.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]!.isMaximized())
  await expect.poll(isMaximized).toBe(true)
  await second.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]!.setFullScreen(true))
  await expect.poll(saved).toMatchObject({ fullScreen: true })
  await second.close()

  const third = await launch({ environment })
  await third.window()
  const isFullScreen = () => third.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]!.isFullScreen())
  await expect.poll(isFullScreen).toBe(true)
})
