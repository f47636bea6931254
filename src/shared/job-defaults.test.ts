import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JobDefaults, type RunItem } from './contract/index.ts'
import { defaultsOf, withDefaults } from './job-defaults.ts'
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

test('priority and placement are inherited unless the order names them; a spider is placed as a whole', () => {
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
    ...{ args: { a: '1' }, env: { C: '3' }, secretNames: ['C'], priority: 5 }
  })
  const alone = order({ withoutDefaults: ['*'] })
  expect(withDefaults(alone, merged)).toBe(alone)
})

test('without defaults an order stays the same object, and names of Object are no spiders', () => {
  const settings = { defaults: defaults({}), spiderDefaults: {} }
  const plain = order({ spider: 'constructor' })
  expect(withDefaults(plain, defaultsOf(settings, 'constructor'))).toBe(plain)
})
