import { expect, test } from 'vitest'
import { splitSlots } from './slots-in-use.ts'

test('jobs within the slots are all in use', () => {
  expect(splitSlots(4, 10)).toEqual({ inUse: 4, over: null, hint: undefined })
})

test('more jobs than slots are never said to use slots that do not exist', () => {
  expect(splitSlots(14, 10)).toMatchObject({ inUse: 10, over: '+4' })
})
