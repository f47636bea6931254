import { expect, it } from 'vitest'
import type { NodeHealth, NodeMode } from '../../shared/contract/index.ts'
import type { FleetNode } from '../nodes/fleet.ts'
import { countSlots } from './figures.ts'

interface Wish {
  health?: NodeHealth
  mode?: NodeMode
  used?: number
  isStuck?: boolean
}

/** Nodes of four slots each. */
const slotsOf = (wishes: Wish[]) =>
  countSlots(
    wishes.map(({ health = 'up', mode = 'active', used = 0, isStuck = false }) => {
      const node = { stored: { mode }, status: { health, capacity: { slots: 4 } } } as unknown as FleetNode
      return { ...node, used, isStuck }
    }),
    { usedOn: ({ used }) => used, isStuck: ({ isStuck }) => isStuck }
  )

it('slots count where jobs can go, or are: nodes that do not answer have none', () => {
  expect(slotsOf([{ used: 1 }, {}, { health: 'down', used: 3 }])).toEqual({ slotsTotal: 8, slotsUsed: 1 })
})

it('nodes that take nothing more count with what runs there: nothing is free that no job can have', () => {
  expect(slotsOf([{ used: 4 }, { mode: 'cordoned', used: 2 }, { mode: 'draining' }])).toEqual({
    slotsTotal: 6,
    slotsUsed: 6
  })
  expect(slotsOf([{ used: 1 }, { isStuck: true }])).toEqual({ slotsTotal: 4, slotsUsed: 1 })
  // More than its slots: strangers' jobs are over them here as anywhere.
  expect(slotsOf([{ mode: 'cordoned', used: 6 }])).toEqual({ slotsTotal: 4, slotsUsed: 6 })
})
