import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JobDefaults, type RunItem, type Transition } from './contract/index.ts'
import { defaultsOf, ownParts, takenDefaults, withDefaults } from './job-defaults.ts'
import { aJob } from './testing/builders.ts'
import { aNodeId, aProjectName } from './testing/ids.ts'

const defaults = (over: Partial<JobDefaults>): JobDefaults => JobDefaults.parse(over)
const order = (over: Partial<RunItem> = {}): RunItem => ({ project: aProjectName('shop'), spider: 'prices', ...over })

const values = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.string({ maxLength: 3 }), {
  noNullPrototype: true
})
const anyDefaults = fc.record({ args: values, settings: values, env: values }).map(defaults)

test('the order takes precedence over the spider, and the spider over the project; nothing else is added', () => {
  fc.assert(
    fc.property(values, anyDefaults, anyDefaults, (args, ofProject, ofSpider) => {
      const merged = defaultsOf({ defaults: ofProject, spiderDefaults: { prices: ofSpider } }, 'prices')
      const started = withDefaults(order({ args }), merged).args ?? {}
      expect(started).toEqual({ ...ofProject.args, ...ofSpider.args, ...args })
    })
  )
})

test('a name that is secret in the defaults stays secret, whichever value it has', () => {
  const settings = {
    defaults: defaults({ args: { key: '1' }, settings: { API_KEY: '2' }, secretNames: ['key', 'API_KEY'] }),
    spiderDefaults: { prices: defaults({ args: { key: '3' }, env: { API_KEY: '4', PROXY: '5' } }) }
  }
  const merged = defaultsOf(settings, 'prices')
  expect(merged).toMatchObject({ args: { key: '3' }, secretNames: ['key', 'API_KEY'] })
  expect(withDefaults(order({ args: { key: '6' } }), merged)).toMatchObject({
    args: { key: '6' },
    env: { API_KEY: '4', PROXY: '5' },
    secretNames: ['key', 'API_KEY']
  })
})

test('priority and placement are inherited unless the order names them; the placement of a spider is inherited as a whole', () => {
  const settings = {
    defaults: defaults({ priority: 2, tags: ['eu'] }),
    spiderDefaults: { prices: defaults({ nodeId: aNodeId('n-1') }) }
  }
  const prices = defaultsOf(settings, 'prices')
  expect(withDefaults(order(), prices)).toMatchObject({ priority: 2, nodeId: 'n-1', tags: [] })
  expect(withDefaults(order({ tags: [], priority: 0 }), prices)).toMatchObject({ priority: 0, tags: [] })
  expect(withDefaults(order({ tags: [] }), prices).nodeId).toBe(undefined)
  expect(withDefaults(order(), defaultsOf(settings, 'stock'))).toMatchObject({ nodeId: null, tags: ['eu'] })
})

test('an order leaves out single defaults, or all of them', () => {
  const merged = defaults({ args: { a: '1', b: '2' }, env: { C: '3' }, secretNames: ['b', 'C'], priority: 5 })
  expect(withDefaults(order({ withoutDefaults: ['b'] }), merged)).toMatchObject({
    args: { a: '1' },
    env: { C: '3' },
    secretNames: ['C'],
    priority: 5
  })
  const alone = order({ withoutDefaults: ['*'] })
  expect(withDefaults(alone, merged)).toBe(alone)
})

test('without defaults an order stays the same object, and property names of Object are not spiders', () => {
  const settings = { defaults: defaults({}), spiderDefaults: {} }
  const plain = order({ spider: 'constructor' })
  expect(withDefaults(plain, defaultsOf(settings, 'constructor'))).toBe(plain)
})

test('values that an order named itself are recognized in its job, whatever the defaults are by then', () => {
  const own = fc.record({ args: values, settings: values, env: values, priority: fc.constantFrom(undefined, 0, 7) })
  const left = fc.subarray(['a', 'b', '*'])
  fc.assert(
    fc.property(own, anyDefaults, left, (named, merged, withoutDefaults) => {
      const ordered = order({ ...named, withoutDefaults })
      const { project: _, ...completed } = withDefaults(ordered, { ...merged, priority: 3, tags: ['eu'] })
      const evidence = { ...takenDefaults(ordered, { ...ordered, ...completed }) }
      const placement = { nodeId: completed.nodeId ?? null, tags: completed.tags ?? [] }
      const job = aJob({ ...named, ...completed, priority: completed.priority ?? 0, placement, secretNames: [] })
      const found = ownParts({ job, timeline: [{ kind: 'queued', evidence } as Transition] })
      expect(found).toMatchObject({ args: named.args, settings: named.settings, env: named.env })
      const isAlone = withoutDefaults.includes('*')
      const isDefault = (name: string) => [merged.args, merged.settings, merged.env].some((one) => name in one)
      expect(found.withoutDefaults ?? []).toEqual(isAlone ? ['*'] : withoutDefaults.filter(isDefault))
      expect(found.priority).toBe(named.priority ?? (isAlone ? 0 : undefined))
      expect(found.tags).toEqual(isAlone ? [] : undefined)
    })
  )
})
