import { describe, expect, it } from 'vitest'
import { closeTab, openTab, tabsOf } from './log-tabs.ts'

describe('tabsOf', () => {
  it('opens the log in front even when the list of the address lacks it, and none twice', () => {
    expect(tabsOf({ jobs: ['a', 'b', 'a'], job: 'c' })).toEqual({ open: ['a', 'b', 'c'], front: 'c' })
    expect(tabsOf({ jobs: ['a', 'b'] })).toEqual({ open: ['a', 'b'], front: 'a' })
    expect(tabsOf({})).toEqual({ open: [], front: null })
  })
})

it('opens a log once and brings it to the front', () => {
  expect(openTab(openTab({ open: ['a'], front: 'a' }, 'b'), 'b')).toEqual({ open: ['a', 'b'], front: 'b' })
})

describe('closeTab', () => {
  const tabs = { open: ['a', 'b', 'c'], front: 'b' }
  it('brings the neighbour to the front', () => {
    expect(closeTab(tabs, 'b')).toEqual({ open: ['a', 'c'], front: 'c' })
    expect(closeTab({ ...tabs, front: 'c' }, 'c')).toEqual({ open: ['a', 'b'], front: 'b' })
    expect(closeTab({ open: ['a'], front: 'a' }, 'a')).toEqual({ open: [], front: null })
  })

  it('leaves the front alone when another one is closed', () => {
    expect(closeTab(tabs, 'a')).toEqual({ open: ['b', 'c'], front: 'b' })
  })
})
