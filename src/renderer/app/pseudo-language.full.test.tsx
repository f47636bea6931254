// @vitest-environment jsdom
import '../testing/speak-pseudo.tsx'
import { afterEach, expect, it } from 'vitest'
import { BARE_TEXTS_HINT } from '../testing/bare-texts.ts'
import { createFakeEngine } from '../testing/fake-engine.ts'
import { openRealEngine } from '../testing/real-engine.ts'
import { walkApp } from '../testing/walk-app.ts'

let walk: ReturnType<typeof walkApp>
afterEach(() => walk.app.stop())

const CLICKS_MAX = 40
const CLICKED = 'button, [role=tab], [role=row][tabindex], tr[tabindex]'

/** Buttons that do the same for different rows are clicked once. */
const kindOf = (element: HTMLElement): string =>
  (element.getAttribute('aria-label') ?? element.textContent).replaceAll(/⟧[^⟦]*(?:⟦|$)|\d+/g, '').slice(0, 40)

/** The fake engine has other engines beside it, and screens that the scene of the real one leaves empty. */
const ENGINES = {
  real: () => openRealEngine('fleet'),
  fake: async () => createFakeEngine({ jobCount: 60, hasSeveralEngines: true, isInBrowser: true })
}

it.each(Object.entries(ENGINES))(
  'with a %s engine, dialogs, menus and details show only texts of the catalogue',
  { timeout: 400_000 },
  async (_, openEngine) => {
    const engine = await openEngine()
    walk = walkApp(engine)
    const { app, screens, open, click, settle } = walk
    const { jobs } = await engine.client.jobs.list({ status: ['failed'], limit: 1 })
    for (const address of [...screens, `/jobs?job=${jobs[0]?.id}`, '/projects?project=prices', '/nodes?node=eu-1']) {
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
    expect(walk.found, BARE_TEXTS_HINT).toEqual({})
  }
)
