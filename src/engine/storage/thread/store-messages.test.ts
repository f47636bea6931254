import fc from 'fast-check'
import { expect, test } from 'vitest'
import { receiveRows, sendRows } from './store-messages.ts'

const value = fc.oneof(fc.constantFrom(null, '', '{}', 0), fc.string(), fc.integer())
const rows = fc.nat(6).chain((columns) => fc.array(fc.array(value, { minLength: columns, maxLength: columns })))

test('rows arrive unchanged', () => {
  fc.assert(
    fc.property(rows, (list) => {
      expect(receiveRows(structuredClone(sendRows(list)))).toEqual(list)
    })
  )
})
