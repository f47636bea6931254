import { describe, expect, it } from 'vitest'
import { shortId } from '../../../shared/ids.ts'
import { aJobId } from '../../../shared/testing/ids.ts'
import {
  closePane,
  closeTab,
  distinctNames,
  formatLines,
  type LogTabs,
  openTab,
  parseLines,
  searchOf,
  split,
  tabsOf
} from './log-tabs.ts'

const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(aJobId) as [
  ReturnType<typeof aJobId>,
  ...ReturnType<typeof aJobId>[]
]
const tabs = (over: Partial<LogTabs>): LogTabs => ({ open: [], front: null, beside: [], isMerged: false, ...over })

describe('the tabs of an address', () => {
  it('include the log in front even if the list in the address lacks it, and none twice', () => {
    expect(tabsOf({ jobs: [a, b!, a], job: c! })).toEqual(tabs({ open: [a, b!, c!], front: c! }))
    expect(tabsOf({ jobs: [a, b!] })).toEqual(tabs({ open: [a, b!], front: a }))
    expect(tabsOf({})).toEqual(tabs({}))
  })

  it('show a log once, and can be merged only if there are two', () => {
    expect(tabsOf({ job: a, beside: [a, b!], merged: true })).toEqual(
      tabs({ open: [a, b!], front: a, beside: [b!], isMerged: true })
    )
    expect(tabsOf({ job: a, beside: [a], merged: true }).isMerged).toBe(false)
  })

  it('can be restored from the address that they write', () => {
    for (const some of [tabs({}), tabs({ open: [a, b!], front: b!, beside: [a], isMerged: true })]) {
      expect(tabsOf(searchOf(some))).toEqual(some)
    }
  })
})

it('opens a log once and brings it to the front', () => {
  expect(openTab(openTab(tabs({ open: [a], front: a }), b!), b!)).toEqual(tabs({ open: [a, b!], front: b! }))
})

it('shows logs side by side, four at most, and leaves them open in their tabs when a pane is closed', () => {
  const all = [b!, c!, d!, e!].reduce(split, tabs({ open: [a], front: a }))
  expect(all).toEqual(tabs({ open: [a, b!, c!, d!, e!], front: a, beside: [c!, d!, e!] }))
  expect(closePane(all, d!)).toEqual({ ...all, beside: [c!, e!] })
  expect(closePane(all, a)).toEqual({ ...all, front: c!, beside: [d!, e!] })
  expect(closePane(tabs({ open: [a, b!], front: a, beside: [b!], isMerged: true }), b!).isMerged).toBe(false)
})

describe('closing a tab', () => {
  const three = tabs({ open: [a, b!, c!], front: b! })
  it('brings the neighbour to the front', () => {
    expect(closeTab(three, b!)).toEqual(tabs({ open: [a, c!], front: c! }))
    expect(closeTab({ ...three, front: c! }, c!)).toEqual(tabs({ open: [a, b!], front: b! }))
    expect(closeTab(tabs({ open: [a], front: a }), a)).toEqual(tabs({}))
  })

  it('leaves the front tab unchanged when another one is closed', () => {
    expect(closeTab(three, a)).toEqual(tabs({ open: [b!, c!], front: b! }))
  })

  it('closes its pane too', () => {
    expect(closeTab(tabs({ open: [a, b!], front: a, beside: [b!] }), a)).toEqual(tabs({ open: [b!], front: b! }))
  })
})

it('distinguishes logs with the same name by their nodes, or by their short ids on one node', () => {
  const logs = [a, b!, c!].map((id, at) => ({ id, name: at === 2 ? 'stock' : 'prices', node: 'eu-1' }))
  expect(distinctNames(logs)).toEqual([`prices ${shortId(a)}`, `prices ${shortId(b!)}`, 'stock'])
  logs[1]!.node = 'eu-2'
  expect(distinctNames(logs)).toEqual(['prices eu-1', 'prices eu-2', 'stock'])
})

it('reads and writes line numbers in the address', () => {
  for (const text of ['7', '7-12']) expect(formatLines(parseLines(text)!)).toBe(text)
  for (const text of [undefined, '', '0', '12-7', 'x']) expect(parseLines(text)).toBeUndefined()
})
