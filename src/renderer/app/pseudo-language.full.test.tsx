// @vitest-environment jsdom
import '../testing/speak-pseudo.tsx'
import { afterEach, expect, it } from 'vitest'
import { walkApp } from '../testing/walk-app.ts'

let walk: Awaited<ReturnType<typeof walkApp>>
afterEach(() => walk.app.stop())

const CLICKS_MAX = 40
const CLICKED = 'button, [role=tab], [role=row][tabindex], tr[tabindex]'

/** Buttons that do the same for different rows are clicked once. */
const kindOf = (element: HTMLElement): string =>
  (element.getAttribute('aria-label') ?? element.textContent).replaceAll(/⟧[^⟦]*(?:⟦|$)|\d+/g, '').slice(0, 40)

it('dialogs, menus and details show only texts of the catalogue', { timeout: 400_000 }, async () => {
  walk = await walkApp()
  const { app, engine, screens, open, click, settle } = walk
  const job = [...engine.jobs.values()].find(({ status }) => status === 'failed')!
  for (const address of [...screens, `/jobs?job=${job.id}`, '/projects?project=prices', '/nodes?node=eu-1']) {
    await open(address)
    const clicked = new Set<string>()
    const isNew = (element: HTMLElement) => {
      const kind = kindOf(element)
      if (clicked.has(kind) || (element as HTMLButtonElement).disabled || element.closest('nav, header')) return false
      return clicked.add(kind)
    }
    for (let turn = 0; turn < CLICKS_MAX; turn += 1) {
      const next = [...document.querySelectorAll<HTMLElement>(CLICKED)].find(isNew)
      if (next === undefined) break
      await click(next, `${address}: ${kindOf(next)}`)
      const isAway = app.router.state.location.pathname !== address.split('?')[0]
      if (document.querySelector('[role=dialog]') === null && !isAway) continue
      await open('/authorize')
      await open(address)
      await settle()
    }
  }
  expect(walk.found).toEqual({})
})
