import fc from 'fast-check'
import { expect, test } from 'vitest'
import { laneText, parseLane } from './lane.ts'

const lane = fc.record({
  project: fc.string(),
  spider: fc.string(),
  version: fc.option(fc.string()),
  placement: fc.record({ nodeId: fc.option(fc.string()), tags: fc.array(fc.string(), { maxLength: 4 }) })
})

test('the text of a lane tells all of it, whatever characters its names have', () => {
  fc.assert(
    fc.property(lane, (given) => {
      const tags = [...new Set(given.placement.tags)].sort()
      expect(parseLane(laneText(given))).toEqual({ ...given, placement: { ...given.placement, tags } })
    })
  )
})

test('the order and repetition of tags make no difference', () => {
  fc.assert(
    fc.property(lane, (given) => {
      const tags = [...given.placement.tags, ...given.placement.tags].reverse()
      expect(laneText({ ...given, placement: { ...given.placement, tags } })).toBe(laneText(given))
    })
  )
})
