import { beforeEach, expect, it } from 'vitest'
import type { EngineInfo } from '../../../shared/contract/index.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { EngineNodes } from './engine-nodes.ts'

const anEngine = (name: string, over: Partial<EngineInfo> = {}): EngineInfo => ({
  id: name,
  name,
  address: `http://${name}:6800`,
  version: '1',
  startedAtMs: 0,
  silentMs: 0,
  state: 'following',
  drained: false,
  hasLocalNode: true,
  ...over
})

let clock: FakeClock
let listed: EngineInfo[] | Error
let nodes: EngineNodes
let found: string[]
beforeEach(async () => {
  clock = createFakeClock()
  listed = [anEngine('north'), anEngine('south', { hasLocalNode: false }), anEngine('west', { state: 'silent' })]
  const list = async () => {
    if (listed instanceof Error) throw listed
    return { shared: true, engines: listed, terms: [] }
  }
  nodes = new EngineNodes({
    engines: { list, certificates: async () => new Map([['north', 'PEM of north']]) },
    clock,
    logger: silentLogger
  })
  found = []
  nodes.events.on('found', (engine) => found.push(engine))
  await nodes.look()
})

it('finds live engines with a local node, and says where they are', () => {
  nodes.start()
  expect(found).toEqual(['north'])
  expect(['north', 'south', 'west'].map((name) => nodes.placeOf(name)?.address ?? null)).toEqual([
    'http://north:6800',
    null,
    null
  ])
  expect(nodes.placeOf('north')?.certificate).toBe('PEM of north')
  expect(nodes.isThere('engine:north')).toBe(true)
  expect(nodes.isThere('engine:west')).toBe(false)
})

it('notices an engine that starts or restarts elsewhere, and keeps what it knows while the list cannot be read', async () => {
  nodes.start()
  listed = new Error('the database is away')
  await clock.advanceBy(2_000)
  expect(nodes.placeOf('north')?.address).toBe('http://north:6800')
  listed = [anEngine('north', { id: 'again', address: 'http://10.0.0.9:6800' }), anEngine('east')]
  await clock.advanceBy(2_000)
  expect(nodes.placeOf('north')?.address).toBe('http://10.0.0.9:6800')
  expect(found).toContain('east')
  nodes.stop()
  listed = []
  await clock.advanceBy(10_000)
  expect(nodes.placeOf('east')).not.toBeNull()
})

it('uses the newest process of a restarted engine, although the killed one still seems to live for some seconds', async () => {
  listed = [anEngine('north', { id: 'old', address: 'http://old:1' }), anEngine('north', { id: 'new' })]
  await nodes.look()
  expect(nodes.placeOf('north')?.address).toBe('http://north:6800')
})

it('reports engines that share a name, but not while one of them may be left from before a restart', async () => {
  nodes.start()
  listed = [anEngine('north', { address: 'http://old:1' }), anEngine('north'), anEngine('south')]
  await clock.advanceBy(20_000)
  expect(nodes.namesakes()).toEqual([])
  await clock.advanceBy(20_000)
  expect(nodes.namesakes()).toMatchObject([{ name: 'north', addresses: ['http://old:1', 'http://north:6800'] }])
  listed = [anEngine('north'), anEngine('south')]
  await clock.advanceBy(2_000)
  expect(nodes.namesakes()).toEqual([])
  nodes.stop()
})
