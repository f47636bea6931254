import { expect, sharedTest as test } from '../desktop/desktop-test.ts'
import type { Desktop } from '../support/desktop.ts'

const choose = (desktop: Desktop, menu: string, item: string) =>
  desktop.evaluate(
    ({ Menu }, [of, label]) => {
      const found = Menu.getApplicationMenu()!.items.find((one) => one.label === of)
      found!.submenu!.items.find((one) => one.label === label)!.click()
    },
    [menu, item]
  )

test('the menu opens screens, the palette and the run dialog', async ({ desktop, window }) => {
  const labels = await desktop.evaluate(({ Menu }) => Menu.getApplicationMenu()!.items.map(({ label }) => label))
  expect(labels).toEqual(['File', 'Edit', 'View', 'Go', 'Run', 'Window', 'Help'])
  await choose(desktop, 'Go', 'Queue')
  await expect(window.getByRole('heading', { name: 'Queue' })).toBeVisible()
  await choose(desktop, 'Go', 'Search or run a command')
  await expect(window.getByPlaceholder(/Search/)).toBeFocused()
  await window.keyboard.press('Escape')
  await choose(desktop, 'Run', 'Run spiders…')
  await expect(window.getByRole('dialog')).toBeVisible()
  await window.keyboard.press('Escape')
})

test('Ctrl+R keeps what the user has typed', async ({ desktop, window }) => {
  await choose(desktop, 'Go', 'Jobs')
  await window.evaluate(() => Object.assign(globalThis, { isSamePage: true }))
  await window.keyboard.press('Control+r')
  await window.waitForTimeout(500)
  expect(await window.evaluate(() => 'isSamePage' in globalThis)).toBe(true)
})

test('a right click in a field offers to paste', async ({ desktop, window }) => {
  await desktop.evaluate(({ Menu }) => {
    Object.assign(globalThis, { opened: [] })
    Menu.prototype.popup = function () {
      ;(globalThis as unknown as { opened: unknown[] }).opened.push(this.items.map(({ role }) => role))
    }
  })
  await choose(desktop, 'Go', 'Jobs')
  await window.getByRole('textbox').first().click({ button: 'right' })
  const opened = () => desktop.evaluate(() => (globalThis as unknown as { opened: string[][] }).opened[0] ?? [])
  await expect.poll(opened).toContain('paste')
})
