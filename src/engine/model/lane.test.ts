import { aNodeId, aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { laneText, parseLane } from './lane.ts'

const lane = fc.record({
  project: fc.string().map(aProjectName),
  spider: fc.string(),
  version: fc.option(fc.string().map(aVersionName)),
  placement: fc.record({ nodeId: fc.option(fc.string().map(aNodeId)), tags: fc.array(fc.string(), { maxLength: 4 }) })
})

test('the text of a lane is lossless, whatever characters its names have', () => {
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
