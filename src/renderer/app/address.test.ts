import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseJobsSearch, parseNodesSearch } from '../state/search.ts'
import { formatAddress, parseAddress } from './address.ts'

it('writes lists as repeated names and omits unset values', () => {
  expect(formatAddress({ status: ['failed', 'lost'], project: 'shop', text: '', job: undefined })).toBe(
    '?status=failed&status=lost&project=shop'
  )
  expect(formatAddress({})).toBe('')
})

it('reads back what it wrote', () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.stringMatching(/^[a-z]{1,8}$/),
        fc.oneof(fc.string({ minLength: 1 }), fc.array(fc.string({ minLength: 1 }), { minLength: 2 })),
        { noNullPrototype: true }
      ),
      (search) => {
        expect(parseAddress(formatAddress(search))).toEqual(search)
      }
    )
  )
})

it('ignores values that are not valid in an address', () => {
  expect(
    parseJobsSearch(parseAddress('?status=failed&status=burnt&job=../../x&sinceHours=24&text=123&tab=log'))
  ).toEqual({ status: ['failed'], sinceHours: 24, text: '123', tab: 'log' })
  expect(parseJobsSearch(parseAddress('?sinceHours=-1&status=x'))).toEqual({})
  expect(parseNodesSearch(parseAddress('?add=true&node=EU 1'))).toEqual({ add: true })
})
