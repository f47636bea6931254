import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import type { JobId } from '../../src/shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../src/shared/ids.ts'
import { until } from '../../src/engine/testing/until.ts'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import type { Service } from '../support/service.ts'

const ADJECTIVES = ['Walnut', 'Brass', 'Folding', 'Enamel', 'Linen', 'Oak', 'Steel', 'Wicker']
const THINGS = ['desk lamp', 'kettle', 'armchair', 'bookshelf', 'rug', 'stool', 'mirror', 'clock', 'vase']
const SHOPS = ['https://shop.example', 'https://warehouse.example/outlet']

let shown: JobId

export async function fillItems({ client, dataDirectory }: Service): Promise<void> {
  for (const count of [1180, 1204]) {
    const { jobs } = await client.jobs.run({
      project: aProjectName('shop'),
      spiders: ['quotes'],
      args: { pages: '1', delay: '0' },
      nodeId: LOCAL_NODE_ID
    })
    shown = jobs[0]!.id
    await until('a run with items', async () => (await client.jobs.status({ id: shown })).state === 'ended')
    const { attempts } = await client.jobs.get({ id: shown })
    const file = join(dataDirectory, 'local/items/shop/quotes', `${attempts[0]!.jobid}.jl`)
    writeFileSync(file, Array.from({ length: count }, (_, at) => `${JSON.stringify(itemAt(at, count))}\n`).join(''))
  }
}

function itemAt(at: number, count: number): object {
  const name = `${ADJECTIVES[at % ADJECTIVES.length]} ${THINGS[(at * 7) % THINGS.length]}`
  const raise = count > 1200 && at % 40 === 0 ? 5 : 0
  return {
    name,
    price: at % 13 === 0 ? null : Math.round(((at * 37) % 400) * 100 + 995) / 100 + raise,
    currency: ['EUR', 'USD', 'GBP', 'EUR'][at % 4],
    in_stock: at % 4 !== 0,
    ...(at % 3 === 0 && { tags: ['sale', THINGS[at % THINGS.length]] }),
    ...(count > 1200 && at % 2 === 0 && { rating: 1 + (at % 5) }),
    url: `${SHOPS[at % 2]}/p/${1000 + at}`,
    seller: { name: `Seller ${at % 17}`, country: ['FR', 'DE', 'PT'][at % 3] },
    description: `${name}, number ${at} of the spring catalogue. Ships within two days from the warehouse in Lyon.`
  }
}

const WHERE = encodeURIComponent('[{"field":"in_stock","operator":"is","value":"true"}]')

export const ITEM_SCREENS: Record<string, (page: Page) => Promise<void>> = {
  items: (page) => page.goto(`#/items?job=${shown}`).then(() => {}),
  'items-job': (page) => page.goto(`#/jobs?job=${shown}&tab=items`).then(() => {}),
  'items-one': (page) => page.goto(`#/items?job=${shown}&item=3`).then(() => {}),
  'items-statistics': (page) => page.goto(`#/items?job=${shown}&field=price&sort=-price&where=${WHERE}`).then(() => {}),
  'items-compare': async (page) => {
    await page.goto(`#/items?job=${shown}&compare=true`)
    await page.waitForTimeout(800)
  },
  'items-filter': async (page) => {
    await page.goto(`#/items?job=${shown}`)
    await page.getByRole('button', { name: 'Add filter' }).click()
  },
  'items-export': async (page) => {
    await page.goto(`#/items?job=${shown}`)
    await page.getByRole('button', { name: 'Export' }).click()
  }
}
