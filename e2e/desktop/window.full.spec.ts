import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, WITHOUT_LOCAL_NODE } from './desktop-test.ts'

test('the window opens where it was closed', async ({ launch, userData }) => {
  const first = await launch({ environment: WITHOUT_LOCAL_NODE })
  await first.window()
  const place = { x: 60, y: 70, width: 1200, height: 800 }
  await first.evaluate(({ BrowserWindow }, bounds) => BrowserWindow.getAllWindows()[0]?.setBounds(bounds), place)
  await expect
    .poll(() => {
      try {
        return JSON.parse(readFileSync(join(userData, 'window.json'), 'utf8')) as object
      } catch {
        return null
      }
    })
    .toMatchObject({ width: 1200, height: 800 })
  await first.close()
  const second = await launch({ environment: WITHOUT_LOCAL_NODE })
  await second.window()
  const bounds = await second.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.getBounds())
  expect(bounds).toMatchObject({ width: 1200, height: 800 })
})
