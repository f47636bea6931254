import { expect, test } from 'vitest'
import type { ProjectName } from '../../../shared/contract/index.ts'
import { whyNoRoom } from './alert-commands.ts'

const COUNTABLE = { most: 1_000, what: 'channels' } as const
const of = (project: string | null, count: number) =>
  Array<{ project: ProjectName | null }>(count).fill({ project: project as ProjectName })
const why = (there: { project: ProjectName | null }[], project: string, isOfAll = false) =>
  whyNoRoom(there, { project: project as ProjectName, isOfAll }, COUNTABLE)?.text ?? null

test('one project may use a tenth of the limit, and above that the error says what to remove', () => {
  expect(why(of('shop', 99), 'shop')).toBeNull()
  expect(why(of('shop', 100), 'shop')).toBe(
    'shop already has 100 alert channels, the most that one project can have: remove some.'
  )
  expect(why(of('shop', 100), 'news')).toBeNull()
  expect(why(of(null, 500), 'shop')).toBeNull()
})

test('however many projects use the limit, another one still gets a share until only the reserve is left', () => {
  const there: { project: ProjectName | null }[] = []
  for (let at = 0; at < 30; at += 1) while (why(there, `p${at}`) === null) there.push(...of(`p${at}`, 1))
  const counts = [...Map.groupBy(there, ({ project }) => project).values()].map(({ length }) => length)
  expect(counts.slice(0, 12)).toEqual([...Array(8).fill(100), 50, 25, 13, 6])
  expect(there).toHaveLength(900)
  expect(why(there, 'late')).toBe(
    'Projects can add only 0 more alert channels in all, and late already has 0: remove some.'
  )
})

test('users with the right in all projects can use the reserve, up to the limit', () => {
  expect(why(of('shop', 999), 'shop', true)).toBeNull()
  expect(why(of('shop', 1_000), 'shop', true)).toBe(
    'There are already 1000 alert channels, the most there can be: remove some.'
  )
})
