import fc from 'fast-check'
import { expect, it } from 'vitest'
import { aNode } from '../../../shared/testing/builders.ts'
import { aJobId, aProjectName } from '../../../shared/testing/ids.ts'
import { looksAlike } from './draw-fleet.ts'
import { cellCount, cellPitch, cornerOf, layoutFleet, ROW_PX, spotAt } from './fleet-layout.ts'

const aFleet = fc
  .array(fc.integer({ min: 1, max: 64 }), { minLength: 1, maxLength: 60 })
  .map((slots) => slots.map((count, index) => aNode({ id: `n${index}`, slots: count })))
const aWidth = fc.integer({ min: 280, max: 2400 })

it('finds every cell at its own centre', () => {
  fc.assert(
    fc.property(aFleet, aWidth, (nodes, widthPx) => {
      const layout = layoutFleet(nodes.length, widthPx)
      nodes.forEach((node, index) => {
        const { x, y } = cornerOf(layout, index)
        for (let slot = 0; slot < cellCount(node); slot++) {
          const spot = spotAt(layout, nodes, x + layout.cellsX + (slot + 0.5) * cellPitch(layout, node), y + ROW_PX / 2)
          expect({ id: spot?.node.id, slot: spot?.slot }).toEqual({ id: node.id, slot })
        }
      })
    }),
    { numRuns: 40 }
  )
})

it("keeps a node's cells within its column, however many slots it has", () => {
  fc.assert(
    fc.property(aFleet, aWidth, (nodes, widthPx) => {
      const layout = layoutFleet(nodes.length, widthPx)
      for (const node of nodes)
        expect(cellPitch(layout, node) * cellCount(node)).toBeLessThanOrEqual(layout.cellsPx + 0.001)
      expect(layout.rows * layout.columns).toBeGreaterThanOrEqual(nodes.length)
    })
  )
})

it('shows a cell for each external run beyond the slots', () => {
  const run = {
    jobId: null,
    jobid: 'x',
    project: aProjectName('p'),
    spider: 's',
    state: 'running' as const,
    sinceMs: null,
    pid: null,
    usage: null
  }
  expect(cellCount(aNode({ slots: 1, runs: [run, run, run] }))).toBe(3)
})

it('redraws a node only when it would look different', () => {
  const run = {
    jobId: aJobId('a'),
    jobid: 'a',
    project: aProjectName('p'),
    spider: 's',
    state: 'running' as const,
    sinceMs: 1,
    pid: null,
    usage: null
  }
  const node = aNode({ runs: [run], latencyMs: 12.1 })
  expect(
    looksAlike(node, { ...node, lastSeenAtMs: 9, latencyMs: 12.3, runs: [{ ...run, jobId: aJobId('b'), sinceMs: 2 }] })
  ).toBe(true)
  expect(looksAlike(node, { ...node, runs: [{ ...run, state: 'starting' }] })).toBe(false)
  expect(looksAlike(node, { ...node, runs: [{ ...run, jobId: null }] })).toBe(false)
  expect(looksAlike(node, { ...node, runs: [] })).toBe(false)
  expect(looksAlike(node, { ...node, stuckSinceMs: 1 })).toBe(false)
  expect(looksAlike(node, { ...node, latencyMs: 40 })).toBe(false)
})
