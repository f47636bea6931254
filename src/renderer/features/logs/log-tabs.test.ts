import { describe, expect, it } from 'vitest'
import { aJobId } from '../../../shared/testing/ids.ts'
import { closeTab, openTab, tabsOf } from './log-tabs.ts'

describe('tabsOf', () => {
  it("opens the log in front even if the address's list lacks it, and none twice", () => {
    expect(tabsOf({ jobs: [aJobId('a'), aJobId('b'), aJobId('a')], job: aJobId('c') })).toEqual({
      open: ['a', 'b', 'c'],
      front: 'c'
    })
    expect(tabsOf({ jobs: [aJobId('a'), aJobId('b')] })).toEqual({ open: ['a', 'b'], front: 'a' })
    expect(tabsOf({})).toEqual({ open: [], front: null })
  })
})

it('opens a log once and brings it to the front', () => {
  expect(openTab(openTab({ open: [aJobId('a')], front: aJobId('a') }, aJobId('b')), aJobId('b'))).toEqual({
    open: ['a', 'b'],
    front: 'b'
  })
})

describe('closeTab', () => {
  const tabs = { open: ['a', 'b', 'c'].map(aJobId), front: aJobId('b') }
  it('brings the neighbour to the front', () => {
    expect(closeTab(tabs, aJobId('b'))).toEqual({ open: ['a', 'c'], front: 'c' })
    expect(closeTab({ ...tabs, front: aJobId('c') }, aJobId('c'))).toEqual({ open: ['a', 'b'], front: 'b' })
    expect(closeTab({ open: [aJobId('a')], front: aJobId('a') }, aJobId('a'))).toEqual({ open: [], front: null })
  })

  it('leaves the front unchanged when another one is closed', () => {
    expect(closeTab(tabs, aJobId('a'))).toEqual({ open: ['b', 'c'], front: 'b' })
  })
})
