import type { Page } from '@playwright/test'
import { leaderAmong, startSharedEngines } from '../support/engines.ts'
import { until } from '../../src/engine/testing/until.ts'
import type { Service } from '../support/service.ts'

export interface PicturedEngines {
  shown: Service
  stop(): Promise<void>
}

/** Starts three engines on one database and kills the leader, so that another engine leads and the third follows it. */
export async function startEngines(): Promise<PicturedEngines> {
  const names = ['north.example', 'south.example', 'west.example']
  const { engines, stop } = await startSharedEngines(names, { localSlots: 2 })
  const [north, south, west] = engines as [Service, Service, Service]
  await north.kill()
  const leader = await leaderAmong(names.slice(1), south)
  const shown = leader === names[1] ? west : south
  await until(
    'the node of the shown engine to be seen',
    () => shown.client.nodes.list(),
    ({ nodes }) => nodes.some(({ name, nodeName }) => name === 'south.example' && nodeName !== null),
    60_000
  )
  return { shown, stop }
}

const openEngines = async (page: Page) => {
  await page.goto('#/engines')
  await page.getByText('Silent').waitFor({ timeout: 15_000 })
}

export const ENGINE_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  engines: openEngines,
  'engines-nodes': async (page) => {
    await page.goto('#/nodes')
    // Waits for the new screen. Until then, the Engines screen is visible, and it shows the same names.
    await page.getByRole('heading', { name: 'Nodes', level: 1, exact: true }).waitFor()
    await page.getByRole('main').getByText('south.example').first().click()
    await page.getByText('hostname').waitFor()
  },
  'engines-overview': async (page) => {
    await page.goto('#/')
    await page.getByText('north.example').first().waitFor()
  },
  'engines-settings': async (page) => {
    await page.goto('#/settings')
    await page.getByText('Appearance').waitFor()
  },
  'engines-hand-over': async (page) => {
    await openEngines(page)
    await page.getByRole('button', { name: /^Hand over to/ }).click()
  }
}

export const ALONE_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  'engines-alone': (page) => page.goto('#/engines').then(() => {})
}
