import { beforeEach, expect, test } from 'vitest'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import type { Answer } from '../../notify/deliveries/post.ts'
import { Heartbeat, heartbeatProblems } from './heartbeat.ts'

let clock: FakeClock
let answer: Answer
let sent: number[]
let isStoreDead: boolean
let signal: Heartbeat

const FINE: Answer = { kind: 'status', status: 200, retryAfterSeconds: null }

beforeEach(() => {
  clock = createFakeClock()
  answer = FINE
  sent = []
  isStoreDead = false
  const startMs = clock.nowMs()
  signal = new Heartbeat({
    url: 'https://hc.example/secret',
    everySeconds: 60,
    clock,
    logger: silentLogger,
    store: {
      changeCursor: async () => {
        if (isStoreDead) throw new Error('the disk is full')
        return 1
      }
    },
    async post({ url }) {
      expect(url).toBe('https://hc.example/secret')
      sent.push((clock.nowMs() - startMs) / 1_000)
      return answer
    }
  })
})

test('the heartbeat is sent at once and then at its interval, until it is stopped', async () => {
  signal.start()
  await clock.advanceBy(150_000)
  expect(sent).toEqual([0, 60, 120])
  signal.stop()
  await clock.advanceBy(600_000)
  expect(sent).toHaveLength(3)
})

test('the heartbeat is not sent while the store does not respond', async () => {
  isStoreDead = true
  signal.start()
  await clock.advanceBy(150_000)
  expect(sent).toEqual([])
  isStoreDead = false
  await clock.advanceBy(60_000)
  expect(sent).toEqual([180])
})

test('a failed heartbeat is a problem after five minutes, until one arrives', async () => {
  signal.start()
  await clock.advanceBy(10_000)
  answer = { kind: 'status', status: 404, retryAfterSeconds: null }
  await clock.advanceBy(240_000)
  expect(signal.failure()).toBeNull()
  await clock.advanceBy(120_000)
  expect(heartbeatProblems(signal.failure())).toMatchObject([
    { id: 'life-signal', text: expect.stringMatching(/^the receiver answered 404\. /), sinceMs: expect.any(Number) }
  ])
  expect(JSON.stringify(heartbeatProblems(signal.failure()))).not.toContain('secret')
  answer = FINE
  await clock.advanceBy(60_000)
  expect(heartbeatProblems(signal.failure())).toEqual([])
})
