import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AlertNotice } from './contract/index.ts'
import { noticesToShow } from './notices-to-show.ts'

const aNotice = (groupId: string, atMs: number, over: Partial<AlertNotice> = {}): AlertNotice => ({
  id: `msg_${atMs}_1`,
  groupId,
  atMs,
  severity: 'warning',
  title: `${groupId} ${atMs}`,
  body: '',
  alertIds: [],
  retryJobIds: [],
  ...over
})
const titles = (notices: AlertNotice[]) => noticesToShow(notices).map(({ title }) => title)

test('the newest notice of each group is shown', () => {
  expect(titles([aNotice('a', 1), aNotice('b', 2), aNotice('a', 3)])).toEqual(['a 3', 'b 2'])
})

test('of many notices, the last few are shown and the others counted, as critical if one of them is', () => {
  const many = Array.from({ length: 9 }, (_, index) => aNotice(`g${index}`, index))
  expect(titles(many)).toEqual(['6 other messages about alerts', 'g6 6', 'g7 7', 'g8 8'])
  const one = many.map((notice, index) => (index === 2 ? { ...notice, severity: 'critical' as const } : notice))
  expect([many, one].map((all) => noticesToShow(all)[0]?.severity)).toEqual(['warning', 'critical'])
})

test('no notice is left out without being counted', () => {
  const some = fc.array(fc.tuple(fc.nat(12), fc.nat(99)).map(([group, atMs]) => aNotice(`g${group}`, atMs)))
  fc.assert(
    fc.property(some, (notices) => {
      const shown = noticesToShow(notices)
      const others = Number(/^(\d+) other/.exec(shown[0]?.title ?? '')?.[1] ?? 0)
      expect(shown.length).toBeLessThanOrEqual(4)
      expect(shown.length - (others > 0 ? 1 : 0) + others).toBe(new Set(notices.map(({ groupId }) => groupId)).size)
    })
  )
})
