import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pickLength } from '../../../../scripts/test-length.mjs'
import { anAlertStory, type Step } from './testing/alert-story.ts'
import {
  falseMessages,
  neverSentResolved,
  sentBeyondLimit,
  sentTooClose,
  sentTooOften,
  sentWhileMuted
} from './testing/invariants.ts'
import { liveThrough } from './testing/live-through.ts'

/**
 * The number of stories. To set it and the seed: `SCRAPDECK_PROPERTY_RUNS=20000 SCRAPDECK_PROPERTY_SEED=7 npx vitest
 * run …`
 */
const RUNS = Number(process.env['SCRAPDECK_PROPERTY_RUNS'] || pickLength(500, 40_000))
const SEED = process.env['SCRAPDECK_PROPERTY_SEED']
const options = { numRuns: RUNS, ...(SEED !== undefined && { seed: Number(SEED) }) }
const LENGTH = 80

test('in any story, channels get the messages that README.md prescribes', { timeout: 900_000 }, () => {
  const property = fc.property(anAlertStory(LENGTH), (story) => {
    const { problem } = liveThrough(story)
    if (problem !== null) throw new Error(problem)
  })
  fc.assert(property, options)
})

const END: Step[] = [
  { do: 'wait', ms: 0, isCalled: true },
  { do: 'write' },
  { do: 'configure', change: { what: 'rules', setup: { rules: [], channels: new Map(), muting: anyMuting() } } }
]

function anyMuting() {
  return { silences: [], cordonedNodes: new Set<never>() }
}

test('a channel that got a firing alert gets its end once, and no channel gets a muted alert', {
  timeout: 900_000
}, () => {
  const property = fc.property(anAlertStory(LENGTH), ({ setup, steps }) => {
    // Without the wait, messages that are due at the time of a change could be sent after the change.
    const onTime = steps.flatMap((step) => [
      { do: 'wait' as const, ms: 1, isCalled: false },
      step.do === 'restart' ? { ...step, behindMs: 0 } : step
    ])
    const { sent } = liveThrough({ setup, steps: [...onTime, ...END] })
    const alwaysOn = steps
      .flatMap((step) => ('change' in step && step.change !== null ? [step.change.setup] : []))
      .reduce((on, { channels }) => on.filter((id) => channels.has(id)), [...setup.channels.keys()])
    const muted = sent.flatMap((one) => sentWhileMuted(one, one.setup))
    const unsent = neverSentResolved(sent, new Set(alwaysOn))
    expect([sentTooOften(sent), falseMessages(sent), muted, unsent]).toEqual([[], [], [], []])
  })
  fc.assert(property, options)
})

test('a group sends at most one message while it gathers', { timeout: 900_000 }, () => {
  const property = fc.property(anAlertStory(LENGTH), ({ setup, steps }) => {
    const channels = new Map([...setup.channels.keys()].map((id) => [id, { quiet: null, messagesPerHour: null }]))
    const quietly = steps.filter((step) => step.do !== 'configure' && step.do !== 'restart')
    const { sent } = liveThrough({ setup: { ...setup, channels }, steps: quietly })
    expect(sentTooClose(sent, setup)).toEqual([])
  })
  fc.assert(property, options)
})

test('no channel gets more messages within any hour than its limit allows, even across restarts', {
  timeout: 900_000
}, () => {
  const property = fc.property(anAlertStory(LENGTH), ({ setup, steps }) => {
    const unchanged = steps.filter((step) => step.do !== 'configure').map(withoutChange)
    const { sent } = liveThrough({ setup, steps: unchanged })
    const inOrder = sent.toSorted((one, other) => one.atMs - other.atMs)
    expect(sentBeyondLimit(inOrder, setup)).toEqual([])
  })
  fc.assert(property, options)
})

const withoutChange = (step: Step): Step =>
  step.do === 'restart' ? { ...step, change: null, isWritten: true, behindMs: 0 } : step
