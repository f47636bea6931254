import { expect, test } from 'vitest'
import { aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { render } from '../../shared/texts/message.ts'
import { silentLogger } from '../runtime/logger.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { aStoredNode } from '../testing/builders.ts'
import type { FleetNode } from './fleet.ts'
import { Inventories } from './inventories.ts'

/** Reads a node with this inventory. `recorded` collects what the catalog of projects receives. */
async function readInventory(projects: string[], versions: string[], spiders: string[]) {
  const recorded = { projects: [] as string[], versions: 0, spiders: 0, asked: 0 }
  const told: (string | null)[] = []
  const client = {
    eggTarget: {
      listProjects: async () => projects.map(aProjectName),
      listVersions: async () => {
        recorded.asked += 1
        return versions.map(aVersionName)
      }
    },
    listSpiders: async () => spiders
  }
  const node = {
    stored: { ...aStoredNode({ id: 'n1', name: 'eu-1' }), scrapydVersion: '1.6' },
    client,
    observer: { duringLongCall: <T>(call: T) => call }
  } as unknown as FleetNode
  const inventories = new Inventories({
    fleet: { get: () => node, setExcess: (_node, excess) => void told.push(excess && render(excess)) },
    projects: {
      catalog: { knowsSpiders: () => false } as never,
      recordSeenOnNode: async (_id, project, seen, listed) => {
        recorded.projects.push(project)
        recorded.versions += seen.length
        recorded.spiders += listed?.length ?? 0
        return []
      },
      recordProjectsOnNode: async () => {}
    },
    recordScrapydVersion: async () => {},
    clock: createFakeClock(),
    logger: silentLogger
  })
  await inventories.read(node)
  return { recorded, told }
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)

test('a normal inventory is recorded whole', async () => {
  const { recorded, told } = await readInventory(['shop', 'news'], ['1', '2'], ['a', 'b', 'c'])
  expect(recorded).toEqual({ projects: ['shop', 'news'], versions: 4, spiders: 6, asked: 2 })
  expect(told).toEqual([null])
})

test('of a node with an endless inventory, a limited part is requested and recorded, and the log says so', async () => {
  const { recorded, told } = await readInventory(names(5_000), names(9_000), names(30_000))
  expect(recorded).toMatchObject({ versions: 20_000, spiders: 50_000, asked: 3 })
  expect(recorded.projects).toHaveLength(3)
  expect(told).toEqual(['more than 2,000 projects and more than 50,000 spiders and more than 20,000 versions'])
})

test('invalid names are left out, and the log says so', async () => {
  const spiders = ['y'.repeat(2_000), 'abc\u202egpj', 'quotes']
  const { recorded, told } = await readInventory(['a/b', 'sh\u200bop', 'shop'], ['1', 'x'.repeat(201)], spiders)
  expect(recorded).toEqual({ projects: ['shop'], versions: 1, spiders: 1, asked: 1 })
  expect(told).toEqual(['5 names that cannot be used'])
})

test('inventories of one node are read one after another; at most one waits, and it uses the connection that is current then', async () => {
  const asked: string[] = []
  const answers: (() => void)[] = []
  const nodeAt = (address: string) =>
    ({
      stored: { ...aStoredNode({ id: 'n1' }), scrapydVersion: '1.6' },
      client: {
        eggTarget: {
          async listProjects() {
            asked.push(address)
            await new Promise<void>((resolve) => answers.push(resolve))
            return []
          }
        }
      }
    }) as unknown as FleetNode
  let current = nodeAt('old')
  const inventories = new Inventories({
    fleet: { get: () => current, setExcess: () => {} },
    projects: {
      catalog: {} as never,
      recordSeenOnNode: async () => [],
      recordProjectsOnNode: async () => {}
    },
    recordScrapydVersion: async () => {},
    clock: createFakeClock(),
    logger: silentLogger
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const readings = [inventories.read(current)]
  await settle()
  for (let count = 0; count < 5; count += 1) readings.push(inventories.read(current))
  current = nodeAt('new')
  await settle()
  expect(asked).toEqual(['old'])
  answers[0]!()
  await settle()
  expect(asked).toEqual(['old', 'new'])
  answers[1]!()
  await Promise.all(readings)
  const again = inventories.read(current)
  await settle()
  answers[2]!()
  await again
  expect(asked).toEqual(['old', 'new', 'new'])
})
