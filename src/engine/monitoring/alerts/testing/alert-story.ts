import fc from 'fast-check'
import {
  AlertRule,
  type AlertRuleId,
  type AlertSilence,
  type NodeId,
  QuietHours
} from '../../../../shared/contract/index.ts'
import { ALERT_WATCHES, type AlertWatch } from '../../../../shared/alert-watches.ts'
import { branded } from '../../../../shared/testing/ids.ts'
import type { AlertSetup } from '../alert-book.ts'
import { type Signal, NO_LABELS } from '../signal.ts'

/** Shortly before the clocks of Berlin go back, and before the quiet hours of two channels. */
export const STORY_BEGINS_MS = Date.UTC(2026, 9, 24, 19, 50)

export type Step =
  | { do: 'receive'; signal: StorySignal }
  | { do: 'flap'; of: number; times: number; everyMs: number }
  | { do: 'receiveAll'; watch: AlertWatch; signals: StorySignal[]; unknown: string[] }
  | { do: 'forget'; of: number }
  | { do: 'acknowledge'; which: number; isTakenBack: boolean }
  | { do: 'configure'; change: Change }
  | { do: 'wait'; ms: number; isCalled: boolean }
  | { do: 'write' }
  | { do: 'restart'; change: Change | null; isWritten: boolean; behindMs: number }

interface Change {
  setup: AlertSetup
  what: 'all' | 'rules' | 'rule' | 'channels' | 'muting'
}

export interface StorySignal {
  of: number
  value: number
  sinceAgoMs: number
  isMoved: boolean
}

const of = (watch: AlertWatch, key: string, labels: Partial<Record<'project' | 'spider' | 'nodeId', string>> = {}) => ({
  watch,
  key,
  labels
})

/**
 * What the signals are about. There are only a few things, so rules, groups and silences overlap. Two things have the
 * same key.
 */
const THINGS = [
  ...[of('node_down', 'north', { nodeId: 'north' }), of('node_down', 'south', { nodeId: 'south' })],
  ...[of('node_stuck', 'north', { nodeId: 'north' })],
  of('job_runs_long', 'j1', { project: 'shop', spider: 'prices', nodeId: 'north' }),
  of('job_runs_long', 'j2', { project: 'books', spider: 'prices', nodeId: 'south' }),
  of('job_runs_long', 'j3', { project: 'shop', spider: 'stock' }),
  of('spider_items', 'shop/prices', { project: 'shop', spider: 'prices' }),
  ...[of('queue_length', 'queue')]
]
const WATCHES = [...new Set(THINGS.map(({ watch }) => watch))]

const elsewhere = ({ spider }: { spider?: string }) => (spider === undefined ? {} : { nodeId: 'south' })

export function signalOf({ of: index, value, sinceAgoMs, isMoved }: StorySignal, nowMs: number): Signal {
  const { watch, key, labels } = THINGS[index % THINGS.length]!
  const isYesNo = ALERT_WATCHES[watch].unit === 'yes_no'
  return {
    watch,
    key,
    value: isYesNo ? Math.min(value, 1) : value,
    sinceMs: nowMs - sinceAgoMs,
    subject: key,
    text: `${key} ${value}`,
    labels: branded({
      ...NO_LABELS,
      ...labels,
      ...(isMoved ? elsewhere(labels) : {}),
      nodeTags: isMoved ? ['new'] : ['eu']
    })
  }
}

/** Usually changes only one part, because two unrelated setups would reveal little. */
export function changed(before: AlertSetup, { setup: given, what }: Change, nowMs: number): AlertSetup {
  const laterMs = nowMs - STORY_BEGINS_MS
  const silences = given.muting.silences.map((one) => ({
    ...one,
    fromMs: one.fromMs + laterMs,
    untilMs: one.untilMs + laterMs,
    repeats: one.repeats && { ...one.repeats, endsMs: one.repeats.endsMs && one.repeats.endsMs + laterMs }
  }))
  const setup = { ...given, muting: { ...given.muting, silences } }
  switch (what) {
    case 'all':
      return setup
    case 'rules':
      return { ...before, rules: setup.rules }
    case 'rule':
      return { ...before, rules: [...before.rules.filter(({ id }) => id !== setup.rules[0]!.id), setup.rules[0]!] }
    case 'channels':
      return { ...before, channels: setup.channels }
    case 'muting':
      return { ...before, muting: setup.muting }
  }
}

export const thingOf = (index: number) => THINGS[index % THINGS.length]!

const SECOND_MS = 1_000
const seconds = (...from: number[]) => fc.constantFrom(...from)
const oftenNull = <Value>(value: fc.Arbitrary<Value>, often = 4) =>
  fc.oneof({ weight: often, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value })

const scope = {
  project: oftenNull(fc.constantFrom('shop', 'books')),
  spider: oftenNull(fc.constantFrom('prices', 'stock')),
  scheduleId: fc.constant(null),
  nodeId: oftenNull(fc.constantFrom('north', 'south')),
  nodeTag: oftenNull(fc.constantFrom('eu', 'new'))
}
const channels = fc.subarray(['c1', 'c2', 'c3'], { minLength: 1 })

const aRule = (id: string): fc.Arbitrary<AlertRule> =>
  fc
    .record({
      ...scope,
      enabled: fc.nat(9).map((number) => number > 0),
      watch: fc.constantFrom(...WATCHES),
      threshold: fc.integer({ min: 1, max: 2 }),
      forSeconds: seconds(0, 0, 30, 120, 1_800),
      severity: fc.constantFrom('info', 'warning', 'critical'),
      channels,
      groupBy: fc.constantFrom('rule', 'project', 'node', 'each'),
      gatherSeconds: seconds(0, 10, 30, 300),
      repeatSeconds: fc.constantFrom(null, 60, 600, 3_600),
      escalation: oftenNull(fc.record({ afterSeconds: seconds(60, 600, 3_600), channels }), 1)
    })
    .map((rule): AlertRule => {
      const ofWatch = ALERT_WATCHES[rule.watch as AlertWatch].unit === 'yes_no' ? { threshold: 1 } : {}
      const of = {
        id,
        name: id,
        revision: 1,
        createdAtMs: 1,
        owner: '',
        comparison: 'at_least',
        ...rule,
        ...ofWatch
      }
      return branded(of as never)
    })

const quiet = fc.constantFrom(
  ...[
    null,
    { zone: 'Europe/Berlin', from: '22:00', until: '07:00', days: [0, 1, 2, 3, 4, 5, 6] },
    { zone: 'America/New_York', from: '16:00', until: '16:30', days: [6] },
    { zone: 'UTC', from: '00:00', until: '00:00', days: [0, 1] }
  ].map((one) => QuietHours.nullable().parse(one))
)

const limit = fc.constantFrom(null, 1, 2, 3, 5)

const silence = fc
  .record({
    ...scope,
    ruleId: oftenNull(fc.constantFrom('r1', 'r2')),
    fromMs: seconds(-60, 0, 30, 600).map((one) => STORY_BEGINS_MS + one * SECOND_MS),
    lastingMs: seconds(30, 60, 300, 1_800, 40_000).map((one) => one * SECOND_MS),
    repeats: oftenNull(
      fc.record({
        every: fc.constantFrom('day', 'day', 'week'),
        zone: fc.constantFrom('UTC', 'Europe/Berlin'),
        endsMs: oftenNull(fc.constant(STORY_BEGINS_MS + 200_000 * SECOND_MS), 1)
      }),
      1
    )
  })
  .map(
    ({ lastingMs, ...one }): AlertSilence =>
      branded({ ...one, id: 's', untilMs: one.fromMs + lastingMs, comment: '', by: 'ada' } as never)
  )

const setup: fc.Arbitrary<AlertSetup> = fc
  .record({
    rules: fc.tuple(aRule('r1'), aRule('r2'), aRule('r3'), aRule('r4')),
    missing: fc.subarray(['r1', 'r2', 'r3', 'r4'], { maxLength: 1 }),
    on: fc.tuple(...['c1', 'c2', 'c3'].map((id) => fc.tuple(fc.constant(id), fc.nat(7), quiet, limit))),
    silences: fc.array(silence, { maxLength: 2 }),
    cordonedNodes: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.subarray(['north', 'south']))
  })
  .map(({ rules, missing, on, silences, cordonedNodes }) => ({
    rules: rules.filter(({ id }) => !missing.includes(id as AlertRuleId)),
    channels: new Map(
      on
        .filter(([, number]) => number > 0)
        .map(([id, , hours, messagesPerHour]) => [id as never, { quiet: hours, messagesPerHour }])
    ),
    muting: { silences, cordonedNodes: new Set(cordonedNodes as NodeId[]) }
  }))

const change: fc.Arbitrary<Change> = fc.record({
  setup,
  what: fc.constantFrom('all', 'rule', 'rule', 'channels', 'muting', 'muting')
})

const storySignal: fc.Arbitrary<StorySignal> = fc.record({
  of: fc.nat(THINGS.length - 1),
  value: fc.constantFrom(0, 1, 1, 2, 2),
  sinceAgoMs: seconds(0, 0, -10, 10, 30, 600).map((one) => one * SECOND_MS),
  isMoved: fc.nat(7).map((number) => number === 0)
})

const wait = fc.record({
  do: fc.constant('wait' as const),
  ms: fc.oneof(
    { weight: 6, arbitrary: seconds(0, 1, 10, 20, 30, 60, 300, 600, 3_600).map((one) => one * SECOND_MS) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 4_000_000 }) },
    { weight: 1, arbitrary: seconds(8, 26).map((one) => one * 3_600 * SECOND_MS) }
  ),
  isCalled: fc.nat(3).map((number) => number > 0)
})

export const anAlertStory = (length: number) =>
  fc.record({
    setup,
    steps: fc.array(
      fc.oneof(
        { weight: 12, arbitrary: fc.record({ do: fc.constant('receive' as const), signal: storySignal }) },
        { weight: 10, arbitrary: wait },
        {
          weight: 1,
          arbitrary: fc.record({
            do: fc.constant('flap' as const),
            of: fc.nat(THINGS.length - 1),
            times: fc.integer({ min: 2, max: 5 }),
            everyMs: seconds(0, 10, 100, 300).map((one) => one * SECOND_MS)
          })
        },
        {
          weight: 2,
          arbitrary: fc.record({
            do: fc.constant('receiveAll' as const),
            watch: fc.constantFrom(...WATCHES),
            signals: fc.array(storySignal, { maxLength: 4 }),
            unknown: fc.subarray(['north', 'j2', 'j3'])
          })
        },
        { weight: 2, arbitrary: fc.record({ do: fc.constant('forget' as const), of: fc.nat(THINGS.length - 1) }) },
        {
          weight: 3,
          arbitrary: fc.record({
            do: fc.constant('acknowledge' as const),
            which: fc.nat(9),
            isTakenBack: fc.nat(2).map((number) => number === 0)
          })
        },
        { weight: 2, arbitrary: fc.record({ do: fc.constant('configure' as const), change }) },
        { weight: 3, arbitrary: fc.record({ do: fc.constant('write' as const) }) },
        {
          weight: 2,
          arbitrary: fc.record({
            do: fc.constant('restart' as const),
            change: oftenNull(change, 1),
            isWritten: fc.boolean(),
            behindMs: fc.constantFrom(0, 0, 5_000)
          })
        }
      ),
      { minLength: 1, maxLength: length, size: 'max' }
    )
  })
