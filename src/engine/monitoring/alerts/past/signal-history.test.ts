import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AlertId, AlertRule, AlertRuleId, AlertRuleSettings, NodeId } from '../../../../shared/contract/index.ts'
import { ALERT_WATCHES } from '../../../../shared/alert-watches.ts'
import type { StoredAlertFact } from '../../../model/records.ts'
import { AlertBook } from '../alert-book.ts'
import { type Signal, NO_LABELS } from '../signal.ts'
import { eventOfRecorded } from './events-of-others.ts'
import { SignalHistory } from './signal-history.ts'
import { replay } from './replay.ts'

const MINUTE_MS = 60_000
const START_MS = Date.UTC(2026, 10, 2)
const NODES = ['north', 'south', 'east']
const giveWay = async () => {}

const settingsOf = (watch: 'node_down' | 'queue_length', forSeconds: number): AlertRuleSettings => ({
  project: null,
  spider: null,
  scheduleId: null,
  nodeId: null,
  nodeTag: null,
  name: 'rule',
  enabled: true,
  ...ALERT_WATCHES[watch].usual,
  watch,
  comparison: 'at_least',
  forSeconds,
  owner: '',
  channels: [],
  groupBy: 'rule',
  gatherSeconds: 0,
  repeatSeconds: null,
  escalation: null,
  ...(watch === 'queue_length' && { threshold: 50 })
})

const aLook = fc.record({
  afterMs: fc.integer({ min: 1, max: 40 }).map((minutes) => minutes * MINUTE_MS),
  nodes: fc.array(
    fc.oneof(
      fc.constant('gone' as const),
      fc.constant('unknown' as const),
      fc.constant('up' as const),
      fc.record({ downForMs: fc.integer({ min: 0, max: 30 }).map((minutes) => minutes * MINUTE_MS) })
    ),
    { minLength: NODES.length, maxLength: NODES.length }
  )
})

const nodeSignal = (name: string, downForMs: number | null, nowMs: number): Signal => ({
  watch: 'node_down',
  key: name,
  value: downForMs === null ? 0 : 1,
  sinceMs: nowMs - (downForMs ?? 0),
  subject: name,
  text: name,
  labels: { ...NO_LABELS, nodeId: name as NodeId }
})

const ruleOf = (settings: AlertRuleSettings): AlertRule => ({
  ...settings,
  id: 'live' as AlertRuleId,
  revision: 1,
  createdAtMs: 0
})

function liveBook(settings: AlertRuleSettings) {
  let lastId = 0
  const book = new AlertBook(() => String((lastId += 1)) as AlertId)
  const muting = { silences: [], cordonedNodes: new Set<never>() }
  book.configure({ rules: [ruleOf(settings)], channels: new Map(), muting }, START_MS)
  const fired = new Map<string, { subject: string; firedAtMs: number; resolvedAtMs: number | null }>()
  const collect = () => {
    for (const { id, subject, firedAtMs, resolvedAtMs } of book.take().episodes)
      if (firedAtMs !== null) fired.set(id, { subject, firedAtMs, resolvedAtMs })
  }
  return { book, collect, fired }
}

const sorted = <One extends { subject: string; firedAtMs: number }>(alerts: Iterable<One>) =>
  [...alerts]
    .map(({ subject, firedAtMs, ...rest }) => ({
      subject,
      firedAtMs,
      resolvedAtMs: (rest as never as { resolvedAtMs: number | null }).resolvedAtMs
    }))
    .sort((one, other) => one.firedAtMs - other.firedAtMs || one.subject.localeCompare(other.subject))

test('a preview of recorded signals fires the alerts that really fired, also across restarts', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(aLook, { maxLength: 60 }),
      fc.constantFrom(0, 60, 1_800),
      fc.array(fc.nat(59), { maxLength: 3 }),
      async (looks, forSeconds, restarts) => {
        const settings = settingsOf('node_down', forSeconds)
        const live = liveBook(settings)
        const recorded: StoredAlertFact[] = []
        let history = new SignalHistory()
        let nowMs = START_MS
        for (const [at, { afterMs, nodes }] of looks.entries()) {
          nowMs += afterMs
          if (restarts.includes(at)) {
            history = new SignalHistory()
            history.restore(recorded)
          }
          const signals = nodes.flatMap((state, index) =>
            state === 'gone' || state === 'unknown'
              ? []
              : [nodeSignal(NODES[index]!, state === 'up' ? null : state.downForMs, nowMs)]
          )
          const unknown = new Set(NODES.filter((_, index) => nodes[index] === 'unknown'))
          live.book.receiveAll('node_down', signals, nowMs, unknown)
          live.collect()
          const changes = history.changesOf('node_down', signals, unknown, nowMs)
          recorded.push(...changes)
          history.written(changes)
        }
        live.book.advance(nowMs + 86_400_000)
        live.collect()
        const events = recorded.map(eventOfRecorded)
        const past = await replay(settings, events, { fromMs: 0, untilMs: nowMs + 86_400_000, giveWay })
        expect(sorted(past)).toEqual(sorted(live.fired.values()))
      }
    ),
    { numRuns: 300 }
  )
})

test('figures are recorded at most every five minutes, states whenever they change, and both once a day', () => {
  const history = new SignalHistory()
  const queue = (value: number, atMs: number): Signal => ({
    watch: 'queue_length',
    key: 'service',
    value,
    sinceMs: atMs,
    subject: 'The queue',
    text: '',
    labels: NO_LABELS
  })
  const written = (signals: Signal[], watch: Signal['watch'], atMs: number) => {
    const changes = history.changesOf(watch, signals, new Set(), atMs)
    history.written(changes)
    return changes.map(({ value }) => value)
  }
  const looks = [...Array(41).keys()].map((at) => written([queue(at, at * 15_000)], 'queue_length', at * 15_000))
  expect(looks.flat()).toEqual([0, 20, 40])
  expect(written([nodeSignal('north', null, 0)], 'node_down', 0)).toEqual([0])
  expect(written([nodeSignal('north', null, 10)], 'node_down', 10)).toEqual([])
  expect(written([nodeSignal('north', 5, 20)], 'node_down', 20)).toEqual([1])
  expect(written([nodeSignal('north', 15, 30)], 'node_down', 30)).toEqual([])
  expect(written([nodeSignal('north', 86_400_015, 86_400_030)], 'node_down', 86_400_030)).toEqual([1])
  expect(written([], 'node_down', 86_400_040)).toEqual([null])
})

test('values that could not be written are considered again', () => {
  const history = new SignalHistory()
  const signals = [nodeSignal('north', 0, 0)]
  expect(history.changesOf('node_down', signals, new Set(), 0)).toHaveLength(1)
  expect(history.changesOf('node_down', signals, new Set(), 1)).toHaveLength(1)
})
