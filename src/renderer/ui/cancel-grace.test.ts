import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { aJobId } from '../../shared/testing/ids.ts'
import { cancelSoon, GRACE_MS, sendPendingCancels, undoCancel, usePendingCancels } from './cancel-grace.tsx'

const [A, B] = [aJobId('a'), aJobId('b')]
const pendingIds = () => [...usePendingCancels.getState().byId.keys()]
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('sends a cancel once, when its grace period is over', () => {
  const send = vi.fn()
  cancelSoon({ ids: [A], name: 'demo', send })
  cancelSoon({ ids: [A], name: 'demo', send })
  vi.advanceTimersByTime(GRACE_MS - 1)
  expect(send).not.toHaveBeenCalled()
  expect(pendingIds()).toEqual([A])
  vi.advanceTimersByTime(1)
  sendPendingCancels()
  expect(send).toHaveBeenCalledTimes(1)
  expect(undoCancel(A)).toBe(false)
  expect(pendingIds()).toEqual([])
})

it('sends nothing after Undo, and sends the others when the page closes', () => {
  const [first, second] = [vi.fn(), vi.fn()]
  cancelSoon({ ids: [A], send: first })
  cancelSoon({ ids: [B], send: second })
  expect(undoCancel(A)).toBe(true)
  window.dispatchEvent(new Event('pagehide'))
  expect(second).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(2 * GRACE_MS)
  expect([first, second].map(({ mock }) => mock.calls.length)).toEqual([0, 1])
})

it('removes single jobs from a cancel of several; jobs that depend on them stay cancelled, with an Undo of their own', () => {
  const [send, undo] = [vi.fn(), vi.fn(async () => undefined)]
  cancelSoon({ ids: [A, B], others: 3, send, undo })
  undoCancel(A)
  vi.advanceTimersByTime(GRACE_MS)
  expect(send.mock.calls).toEqual([[[B]]])
  cancelSoon({ ids: [A, B], others: 3, send, undo })
  undoCancel(A)
  expect(undo).not.toHaveBeenCalled()
  undoCancel(B)
  expect(undo).not.toHaveBeenCalled()
  expect(send).toHaveBeenLastCalledWith([])
  expect(pendingIds()).toEqual([])
})
