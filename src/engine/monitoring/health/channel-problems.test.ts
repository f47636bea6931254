import { expect, test } from 'vitest'
import type { WebhookId } from '../../../shared/contract/index.ts'
import {
  type ChannelTrouble,
  channelProblems,
  stateOf,
  pluginWithoutChannelProblems,
  pluginsWithoutChannel
} from './channel-problems.ts'

const NOW_MS = 1_800_000_000_000
const MINUTE_MS = 60_000
const failing = { enabled: true, problem: 'nothing listens', lastDeliveredAtMs: NOW_MS - 60 * MINUTE_MS }
const ago = (minutes: number) => NOW_MS - minutes * MINUTE_MS

test('a channel is in trouble once its oldest message has waited for 10 minutes', () => {
  expect(stateOf(failing, ago(9), null, NOW_MS)).toBeNull()
  expect(stateOf(failing, ago(10), null, NOW_MS)).toEqual({ state: 'failing', sinceMs: ago(10) })
  expect(stateOf(failing, null, null, NOW_MS)).toBeNull()
  expect(stateOf({ ...failing, problem: null }, ago(60), null, NOW_MS)).toBeNull()
  expect(stateOf({ ...failing, enabled: false }, ago(60), null, NOW_MS)).toBeNull()
})

test('a message that was given up is a problem at once, until another one is delivered', () => {
  const dead = { madeAtMs: ago(2), endedAtMs: ago(1) }
  expect(stateOf(failing, null, dead, NOW_MS)).toEqual({ state: 'given_up', sinceMs: ago(2) })
  expect(stateOf({ ...failing, lastDeliveredAtMs: NOW_MS }, null, dead, NOW_MS)).toBeNull()
  const gone = { ...failing, enabled: false, problem: '410' }
  expect(stateOf(gone, null, dead, NOW_MS)).toEqual({ state: 'gone', sinceMs: ago(1) })
})

test('the problem says what to do, and whether it is reported elsewhere', () => {
  const trouble: ChannelTrouble = {
    id: 'c1' as WebhookId,
    name: 'Ops',
    answer: 'nothing listens on mail:25',
    sinceMs: ago(12),
    state: 'failing',
    isReportedElsewhere: true
  }
  const [problem] = channelProblems([trouble])
  expect(problem).toMatchObject({ id: 'channel:c1', severity: 'error', sinceMs: ago(12) })
  expect(problem!.title).toBe('The alert channel Ops cannot deliver its messages')
  expect(problem!.text).toMatch(/^nothing listens on mail:25\. Its messages are retried .+ then test it$/)
  const [alone] = channelProblems([{ ...trouble, isReportedElsewhere: false }])
  expect(alone!.text).toMatch(/No other channel reports this: add a rule that watches the service itself/)
})

test('a plugin that no channel uses is a problem, because it sends nothing to anyone', () => {
  const channel = (plugin: string, enabled: boolean) => ({
    enabled,
    channel: { target: { kind: 'plugin' as const, plugin }, quiet: null }
  })
  const untold = pluginsWithoutChannel(['chat', 'pager', 'sms'], [channel('chat', true), channel('sms', false)])
  expect(untold).toEqual(['pager', 'sms'])
  expect(pluginWithoutChannelProblems(untold)[0]).toMatchObject({
    id: 'alert-plugin:pager',
    severity: 'warning',
    title: 'The plugin pager receives no alerts'
  })
})
