import { expect, test } from 'vitest'
import { readBusyMs, readCpu, readMainThread, whatBounds } from './cpu-shares.ts'

test('what bounds a figure is an event loop, the cores, or waiting; other programs are told', () => {
  const loops = { 'the leader': 0.5, 'the follower': 0.2 }
  expect(whatBounds({ loops: { 'the leader': 0.97 }, used: 1.4, busy: 1.5, cores: 2 })).toBe(
    'the event loop of the leader (0.97 of a core)'
  )
  expect(whatBounds({ loops, used: 1.9, busy: 1.95, cores: 2 })).toBe('the 2 cores (1.90 used here)')
  expect(whatBounds({ loops, used: 1.1, busy: 1.99, cores: 2 })).toBe(
    'the 2 cores (1.10 used here); loaded machine: other programs used 0.89 cores'
  )
  expect(whatBounds({ loops, used: 0.7, busy: 0.8, cores: 2 })).toMatch(/^waiting: .*0\.70 used here/)
})

test.runIf(process.platform === 'linux')('CPU time is read from the kernel', () => {
  const [loop, busy] = [readMainThread(process.pid), readBusyMs()]
  const endMs = performance.now() + 100
  while (performance.now() < endMs);
  expect(readBusyMs()).toBeGreaterThan(busy)
  expect(loop).toBeGreaterThan(0)
  expect([...readCpu(() => 'children').values()].every((ms) => ms >= 0)).toBe(true)
})
