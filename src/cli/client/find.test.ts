import { expect, it } from 'vitest'
import { findIn } from '../commands/rights-flags.ts'
import { EXIT_CODES } from './exit-codes.ts'
import { pickById } from './find.ts'

const IDS = ['a'.repeat(24) + '0123abcd', `${'b'.repeat(23)}c0123abcd`, 'd'.repeat(32)]
const THINGS = IDS.map((id, index) => ({ id, name: `name ${index}` }))

it('a command finds a thing by a short id, and lists the candidates if several match', () => {
  expect(pickById(THINGS, IDS[0]!)).toBe(THINGS[0])
  expect(pickById(THINGS, 'd'.repeat(8))).toBe(THINGS[2])
  expect(pickById(THINGS, 'd'.repeat(7))).toBeNull()
  expect(pickById(THINGS, 'd'.repeat(6), 6)).toBe(THINGS[2])
  expect(() => pickById(THINGS, '0123abcd')).toThrow(
    expect.objectContaining({
      exitCode: EXIT_CODES.usage,
      message: `2 ids match 0123abcd: ${IDS[0]}, ${IDS[1]}. Give more of the id.`
    })
  )
  expect(findIn(THINGS, 'aa0123abcd', 'user')).toBe(THINGS[0])
  expect(findIn(THINGS, 'NAME 1', 'user')).toBe(THINGS[1])
  expect(() => findIn(THINGS, 'x', 'user')).toThrow('There is no user x. There are name 0, name 1, name 2.')
})
