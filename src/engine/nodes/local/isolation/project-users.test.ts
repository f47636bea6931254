import fc from 'fast-check'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseUserRange } from '../../../runtime/isolation-settings.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { findUserOfRange, nextUser, ProjectUsers } from './project-users.ts'

const RANGE = { first: 70_000, last: 70_003 }

test('each project keeps its user across restarts, and no two share one', async () => {
  await using place = await makeTemporaryDirectory()
  const users = ProjectUsers.open(place.path, RANGE)
  const given = await Promise.all(['shop', 'news', 'shop'].map((name) => users.of(name)))
  expect(given).toEqual([70_001, 70_002, 70_001])
  const again = ProjectUsers.open(place.path, RANGE)
  expect(await again.of('toString')).toBe(70_003)
  expect(await again.of('news')).toBe(70_002)
  await expect(again.of('fourth')).rejects.toThrow('All user ids of spider_users (70000-70003) are given')
})

test('no user is assigned while the existing assignments are unknown', async () => {
  await using place = await makeTemporaryDirectory()
  await writeFile(join(place.path, 'users.json'), '{"shop": "root"}')
  expect(() => ProjectUsers.open(place.path, RANGE)).toThrow()
  expect(await readFile(join(place.path, 'users.json'), 'utf8')).toBe('{"shop": "root"}')
})

test('an id is in the range, is not that of the group, and was never assigned', () => {
  const range = fc
    .tuple(fc.nat(1000), fc.integer({ min: 1, max: 50 }))
    .map(([first, size]) => ({ first, last: first + size }))
  fc.assert(
    fc.property(range, fc.array(fc.nat(1100)), ({ first, last }, given) => {
      const id = nextUser({ first, last }, given)
      if (id === null) return
      expect(id).toBeGreaterThan(first)
      expect(id).toBeLessThanOrEqual(last)
      expect(given).not.toContain(id)
    })
  )
})

test.runIf(process.platform !== 'win32')('a range that contains an account is detected', () => {
  expect(findUserOfRange({ first: 0, last: 5 })).toContain('(0 in /etc/passwd)')
})

test('a valid range has at least two ids', () => {
  expect(parseUserRange(' 70000 - 70003 ')).toEqual(RANGE)
  for (const text of ['', '70000', '0-70000', '5-4', '70003-70000', '70000-70000', 'a-b']) {
    expect(parseUserRange(text), text).toBeNull()
  }
})
