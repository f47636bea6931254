import { expect, it } from 'vitest'
import { RECOMMENDED_POLICY, StoragePolicy } from '../../../shared/contract/index.ts'
import { policyOfRows, rowsOf } from './policy-rows.ts'

it('a policy in the form gives the same policy again', () => {
  const policy = StoragePolicy.parse({
    ...RECOMMENDED_POLICY,
    projects: {
      shop: { logs: { days: 7, bytes: 2_500_000_000 }, eggs: { newest: 2 } },
      news: { jobs: { perSpider: 9 } }
    },
    budgetBytes: 5_000_000
  })
  expect(rowsOf(policy)).toHaveLength(7)
  expect(policyOfRows(policy, rowsOf(policy))).toEqual(policy)
})

it('removing a row returns its project to the defaults', () => {
  const policy = StoragePolicy.parse({ ...RECOMMENDED_POLICY, projects: { shop: { logs: { days: 7 } } } })
  const rows = rowsOf(policy).filter(({ project }) => project === null)
  expect(policyOfRows(policy, rows).projects).toEqual({})
})
