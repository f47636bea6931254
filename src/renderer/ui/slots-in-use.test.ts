import { expect, test } from 'vitest'
import { countSlots, splitSlots } from './slots-in-use.ts'

test('jobs within the slots are all in use', () => {
  expect(splitSlots(4, 10)).toEqual({ inUse: 4, over: null, hint: undefined })
})

test('more jobs than slots never use slots that do not exist', () => {
  expect(splitSlots(14, 10)).toMatchObject({ inUse: 10, over: '+4' })
})

test('a node that takes no jobs counts only its runs, and a node that does not respond does not count', () => {
  const node: Parameters<typeof countSlots>[0][number] = {
    health: 'up',
    mode: 'active',
    stuckSinceMs: null,
    slots: 4,
    runs: []
  }
  expect(
    countSlots([
      node,
      { ...node, mode: 'cordoned' },
      { ...node, stuckSinceMs: 1 },
      { ...node, mode: 'draining', runs: [{} as never] },
      { ...node, health: 'down', runs: [{} as never] }
    ])
  ).toEqual({ used: 1, total: 5 })
})
