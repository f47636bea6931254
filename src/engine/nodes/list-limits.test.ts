import { inWords } from '../../shared/testing/in-words.ts'
import { expect, test } from 'vitest'
import { InventoryQuota, LISTED_MAX, shownExternal } from './list-limits.ts'
import type { SeenJob } from './node-client.ts'

const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)
const isUsable = (name: string) => name !== ''

test('a normal inventory is read in full', () => {
  const quota = new InventoryQuota({ projects: 3, versions: 3, spiders: 3 })
  expect(quota.take('projects', names(3), isUsable)).toEqual(names(3))
  expect(quota.problem()).toBeNull()
})

test('too many names are cut: the newest versions stay, and the result says what was left out', () => {
  const quota = new InventoryQuota({ projects: 2, versions: 3, spiders: 3_000 })
  expect(quota.take('projects', ['', 'a', 'b', 'c'], isUsable)).toEqual(['a', 'b'])
  expect(quota.take('versions', ['1', '2'], isUsable)).toEqual(['1', '2'])
  expect(quota.isFull('versions')).toBe(false)
  expect(quota.take('versions', ['1', '2', '3'], isUsable)).toEqual(['3'])
  expect(quota.isFull('versions')).toBe(true)
  expect(quota.take('versions', ['1'], isUsable)).toEqual([])
  expect(quota.take('spiders', names(3_001), isUsable)).toHaveLength(3_000)
  expect(inWords(quota.problem())).toBe(
    'more than 2 projects and more than 3 versions and more than 3,000 spiders and 1 name that cannot be used'
  )
})

test('a limited number of external jobs is shown, running ones first', () => {
  const jobs = (count: number) => names(count).map((jobid) => ({ project: 'shop', spider: 's', jobid }) as SeenJob)
  const { running, pending } = shownExternal({ running: jobs(10), pending: jobs(LISTED_MAX.jobs) })
  expect([running.length, pending.length]).toEqual([10, LISTED_MAX.externalShown - 10])
})
