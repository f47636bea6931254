import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BoundedMap, BoundedSet } from './bounded.ts'

const key = fc.integer({ min: 0, max: 12 })

test('a bounded map holds the entries that were set last, the newest at the end', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(fc.tuple(key, fc.boolean())), (max, steps) => {
      const map = new BoundedMap<number, number>(max)
      let model: [number, number][] = []
      for (const [at, [one, isSet]] of steps.entries()) {
        if (isSet) map.set(one, at)
        else map.delete(one)
        model = model.filter(([other]) => other !== one)
        if (isSet) model = [...model, [one, at] as [number, number]].slice(-max)
        expect([...map]).toEqual(model)
      }
    })
  )
})

test('a bounded set holds the values that were added last', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(key), (max, values) => {
      const set = new BoundedSet<number>(max)
      let model: number[] = []
      for (const value of values) {
        set.add(value)
        model = [...model.filter((other) => other !== value), value].slice(-max)
        expect([...set]).toEqual(model)
      }
    })
  )
})
