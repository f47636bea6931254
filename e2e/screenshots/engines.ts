import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { startPostgres } from '../../src/engine/store/postgres/testing/start-postgres.ts'
import { until } from '../../src/engine/testing/until.ts'
import { type Service, startService } from '../support/service.ts'

export interface PicturedEngines {
  /** The follower, whose pages are taken. */
  shown: Service
  stop(): Promise<void>
}

/** Three engines on one database: one that was killed, one that took over, and one that is drained. */
export async function startEngines(): Promise<PicturedEngines> {
  const database = await startPostgres()
  const root = mkdtempSync(join(tmpdir(), 'scrapdeck-pictured-engines-'))
  const start = (name: string) => {
    const dataDirectory = join(root, name)
    mkdirSync(dataDirectory)
    if (name !== 'north') cpSync(join(root, 'north/secret.key'), join(dataDirectory, 'secret.key'))
    const environment = { SCRAPDECK_ENGINE_NAME: `${name}.example` }
    return startService({ dataDirectory, localSlots: 0, arguments: [`--store=${database.url}`], environment })
  }
  const north = await start('north')
  const south = await start('south')
  const west = await start('west')
  await north.kill()
  const leads = async () => (await south.client.engines.list().catch(() => null))?.engines
  await until('another leader', leads, (engines) => engines?.some(({ state }) => state === 'leading') === true, 20_000)
  const { engines } = await south.client.engines.list()
  const leader = engines.find(({ state }) => state === 'leading')!
  return {
    shown: leader.name.startsWith('south') ? west : south,
    async stop() {
      await Promise.all([south.stop(), west.stop()])
      await database.stop()
      rmSync(root, { recursive: true, force: true })
    }
  }
}

/** After six seconds, the killed one counts as silent. */
const openEngines = async (page: Page) => {
  await page.goto('#/engines')
  await page.getByText('Silent').waitFor({ timeout: 15_000 })
}

export const ENGINE_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  engines: openEngines,
  'engines-hand-over': async (page) => {
    await openEngines(page)
    await page.getByRole('button', { name: /^Hand over to/ }).click()
  }
}

export const ALONE_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  'engines-alone': (page) => page.goto('#/engines').then(() => {})
}
