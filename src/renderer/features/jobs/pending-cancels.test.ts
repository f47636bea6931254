import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { aJobId } from '../../../shared/testing/ids.ts'
import { cancelSoon, GRACE_MS, sendPendingCancels, undoCancel, usePendingCancels } from './pending-cancels.ts'

const [A, B] = [aJobId('a'), aJobId('b')]
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('sends a cancel once, when its grace is over', () => {
  const send = vi.fn()
  cancelSoon(A, send)
  cancelSoon(A, send)
  vi.advanceTimersByTime(GRACE_MS - 1)
  expect(send).not.toHaveBeenCalled()
  expect(usePendingCancels.getState().sentAtMs.has(A)).toBe(true)
  vi.advanceTimersByTime(1)
  sendPendingCancels()
  expect(send).toHaveBeenCalledTimes(1)
  expect(undoCancel(A)).toBe(false)
  expect(usePendingCancels.getState().sentAtMs.size).toBe(0)
})

it('sends nothing after Undo, and the others when the page closes', () => {
  const [first, second] = [vi.fn(), vi.fn()]
  cancelSoon(A, first)
  cancelSoon(B, second)
  expect(undoCancel(A)).toBe(true)
  window.dispatchEvent(new Event('pagehide'))
  expect(second).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(2 * GRACE_MS)
  expect([first, second].map(({ mock }) => mock.calls.length)).toEqual([0, 1])
})
