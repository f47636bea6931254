import { expect, test } from 'vitest'
import type { AlertId, AlertSilence, QuietHours } from '../../../shared/contract/index.ts'
import { branded } from '../../../shared/testing/ids.ts'
import { encode, say } from '../../../shared/texts/message.ts'
import { AlertBook } from './alert-book.ts'
import { NO_LABELS } from './signal.ts'
import { aSignal, aRule, aSetup, BookInTime } from './testing/book-in-time.ts'

const north = aSignal('north')
const south = aSignal('south')

const aSilence = (untilSeconds: number): AlertSilence =>
  branded({
    id: 's',
    ruleId: null,
    project: null,
    spider: null,
    scheduleId: null,
    nodeId: null,
    nodeTag: null,
    fromMs: 0,
    untilMs: untilSeconds * 1_000,
    repeats: null,
    comment: '',
    by: 'ada'
  })

test('a rule matches signals in its scope that reach its threshold', () => {
  const items = aRule({ watch: 'spider_items', comparison: 'at_most', threshold: 5, project: 'shop', gatherSeconds: 0 })
  const time = new BookInTime(aSetup([items]))
  const run = (key: string, project: string, value: number) =>
    aSignal(key, { watch: 'spider_items', value, labels: { ...NO_LABELS, project } })
  time.is(run('few', 'shop', 5), run('many', 'shop', 6), run('other', 'books', 5))
  expect(time.until(1)).toEqual(['0 s, chat, firing few'])
})

test('an alert whose text reads the same is not written again, whatever its parameters are', () => {
  const rule = aRule()
  const book = new AlertBook(() => 'a'.repeat(32) as AlertId)
  book.configure(aSetup([rule]), 0)
  const textFor = (freeBytes: number) => encode(say('problem.disk_fills', { freeBytes, leftMs: 1, isPolicySet: true }))
  const written = (freeBytes: number) => {
    book.receive(aSignal('north', { text: textFor(freeBytes) }), 1)
    return book.take().episodes.map(({ text }) => text)
  }
  expect(written(61_000_000_000)).toEqual([textFor(61_000_000_000)])
  expect(written(61_000_000_001)).toEqual([])
  expect(written(59_000_000_000)).toEqual([textFor(59_000_000_000)])
})

test('an alert that ends before it lasts long enough is not sent', () => {
  const time = new BookInTime(aSetup([aRule({ forSeconds: 60 })]))
  time.is(north, south)
  expect(time.until(50)).toEqual([])
  time.isNot(north)
  expect(time.until(1_000)).toEqual(['90 s, chat, firing south'])
})

test('a flapping alert ends only after ten quiet minutes, without messages in between', () => {
  const time = new BookInTime(aSetup([aRule({ gatherSeconds: 0 })]))
  for (let round = 0; round < 5; round += 1) {
    time.is(north)
    time.until(20 * round + 10)
    time.isNot(north)
    time.until(20 * round + 20)
  }
  time.is(north)
  expect(time.until(1_000)).toEqual([])
  time.isNot(north)
  expect(time.until(2_000)).toEqual(['1600 s, chat, resolved north'])
})

test('escalation channels get the alert once it has been unacknowledged for long enough', () => {
  const rule = aRule({ gatherSeconds: 0, groupBy: 'each', escalation: { afterSeconds: 300, channels: ['phone'] } })
  const time = new BookInTime(aSetup([rule]))
  time.is(north)
  expect(time.until(100)).toEqual(['0 s, chat, firing north'])
  time.acknowledge()
  time.is(south)
  expect(time.until(1_000)).toEqual(['100 s, chat, firing south', '400 s, phone, firing south'])
})

test('after an acknowledgement is withdrawn, messages that were due meanwhile are sent at once', () => {
  const escalation = { afterSeconds: 300, channels: ['phone'] }
  const time = new BookInTime(aSetup([aRule({ gatherSeconds: 0, repeatSeconds: 600, escalation })]))
  time.is(north)
  time.acknowledge()
  expect(time.until(100)).toEqual(['0 s, chat, firing north'])
  expect([time.unacknowledge(), time.unacknowledge()]).toEqual([1, 0])
  expect(time.until(310)).toEqual(['300 s, phone, firing north'])
  time.acknowledge()
  expect(time.until(5_000)).toEqual([])
  time.unacknowledge()
  expect(time.until(5_000).toSorted()).toEqual(['5000 s, chat, again north', '5000 s, phone, again north'])
})

test('an alert acknowledged past its escalation time escalates when the acknowledgement is withdrawn', () => {
  const rule = aRule({ gatherSeconds: 0, escalation: { afterSeconds: 300, channels: ['phone'] } })
  const time = new BookInTime(aSetup([rule]))
  time.is(north)
  time.acknowledge()
  expect(time.until(1_000)).toEqual(['0 s, chat, firing north'])
  time.unacknowledge()
  expect(time.until(1_001)).toEqual(['1000 s, phone, firing north'])
})

test('while a node is down, only that is sent; its other alerts that still fire follow when it is up', () => {
  const time = new BookInTime(aSetup([aRule({ watch: 'node_down' }), aRule({ id: 'late', watch: 'job_runs_long' })]))
  const down = aSignal('north', { watch: 'node_down' })
  const job = (key: string) => aSignal(key, { watch: 'job_runs_long', labels: north.labels as never })
  time.is(down, job('one'), job('two'))
  expect(time.until(100)).toEqual(['30 s, chat, firing north'])
  time.isNot(job('one'), down)
  expect(time.until(200)).toEqual(['130 s, chat, resolved north', '130 s, chat, firing two'])
})

test('an alert that began and ended under a silence is never sent; one that still fires is sent after the silence', () => {
  const setup = aSetup([aRule()], { silences: [aSilence(100)] })
  const time = new BookInTime(setup)
  time.is(north, south)
  time.until(50)
  time.isNot(north)
  expect(time.until(1_000)).toEqual(['130 s, chat, firing south'])
})

test('a recurring silence holds messages back each day, and lets them through in between', () => {
  const DAY_S = 86_400
  const daily = { ...aSilence(100), repeats: { every: 'day' as const, zone: 'UTC', endsMs: 2 * DAY_S * 1_000 } }
  const time = new BookInTime(aSetup([aRule({ gatherSeconds: 0 })], { silences: [daily] }))
  const firedAt = [0, DAY_S, 2 * DAY_S].map((day) => {
    time.until(day + 50)
    time.is(north)
    const told = time.until(day + 1_000)
    time.isNot(north)
    return told
  })
  expect(firedAt).toEqual([100, DAY_S + 100, 2 * DAY_S + 50].map((at) => [`${at} s, chat, firing north`]))
})

test('an alert that was sent as firing is sent as resolved even under a silence', () => {
  const time = new BookInTime(aSetup([aRule()]))
  time.is(north)
  time.until(40)
  time.configure(aSetup([aRule()], { silences: [aSilence(10_000)] }))
  time.isNot(north)
  expect(time.until(1_000)).toEqual(['70 s, chat, resolved north'])
})

test('a grouped message includes all alerts since its start, even those that have ended before it is sent', () => {
  const time = new BookInTime(aSetup([aRule()]))
  time.is(north)
  time.until(20)
  time.isNot(north)
  time.is(south)
  expect(time.until(100)).toEqual(['30 s, chat, firing south, resolved north'])
})

test('quiet hours hold alerts that are not critical until they end', () => {
  const quiet: QuietHours = { zone: 'UTC', from: '00:00', until: '01:00', days: [4] }
  const critical = aRule({ id: 'worse', severity: 'critical', watch: 'node_down' })
  const time = new BookInTime(aSetup([aRule(), critical], {}, { quiet }))
  time.is(north, aSignal('south', { watch: 'node_down' }))
  expect(time.until(10_000)).toEqual(['30 s, chat, firing south', '3600 s, chat, firing north'])
})

test('an alert repeats until it is acknowledged, and only once for all repeats missed during a sleep', () => {
  const time = new BookInTime(aSetup([aRule({ repeatSeconds: 600 })]))
  time.is(north)
  expect(time.until(40)).toEqual(['30 s, chat, firing north'])
  expect([time.until(629), time.until(630)]).toEqual([[], ['630 s, chat, again north']])
  expect(time.until(36_000)).toEqual(['36000 s, chat, again north'])
  time.acknowledge()
  expect(time.until(72_000)).toEqual([])
})

test('all alerts of one moment are sent in one message, even without grouping', () => {
  const time = new BookInTime(aSetup([aRule({ gatherSeconds: 0 })]))
  time.book.receiveAll('node_stuck', [north, south], 0)
  expect(time.until(0)).toEqual(['0 s, chat, firing north south'])
  time.book.receiveAll('node_stuck', [], 5_000, new Set(['south']))
  expect(time.until(5)).toEqual(['5 s, chat, resolved north, 1 still firing'])
})

test('after a restart, no pending alert fires and none ends before its signals arrive', () => {
  const setup = aSetup([aRule({ gatherSeconds: 0 }), aRule({ id: 'later', forSeconds: 60 })])
  const time = new BookInTime(setup)
  time.is(north)
  time.book.advance(0)
  const { messages: sent, ...taken } = time.book.take()
  const kept = JSON.parse(JSON.stringify({ ...taken, sent }))
  time.book = new AlertBook(() => 'new' as never)
  time.book.restore(kept, setup, 100_000)
  expect(time.until(200)).toEqual([])
  time.book.receive(north, 200_000)
  expect(time.until(300)).toEqual(['230 s, chat, firing north'])
  time.isNot(north)
  expect(time.until(400)).toEqual(['300 s, chat, resolved north', '330 s, chat, resolved north'])
})

const stuck = (...keys: string[]) => keys.map((key) => aSignal(key))
const each = aRule({ groupBy: 'each', gatherSeconds: 0 })

test('alerts beyond the limit of a channel are sent when there is room, oldest first', () => {
  const time = new BookInTime(aSetup([each], {}, { messagesPerHour: 2 }))
  time.is(...stuck('a', 'b'))
  expect(time.until(0)).toEqual(['0 s, chat, firing a', '0 s, chat, firing b, others held until 3600 s'])
  time.is(...stuck('z'))
  time.until(20)
  time.is(...stuck('c'))
  expect(time.until(3_599)).toEqual([])
  expect([...time.book.held(3_599_000)]).toEqual([['chat', { messages: 2, nextAtMs: 3_600_000 }]])
  expect(time.book.nextAtMs()).toBe(3_600_000)
  expect(time.until(3_600)).toEqual(['3600 s, chat, firing z', '3600 s, chat, firing c, others held until 7200 s'])
  expect([...time.book.held(3_600_000)]).toEqual([])
})

test('after a long sleep, no more messages are sent at once than the limit allows', () => {
  const time = new BookInTime(aSetup([each], {}, { messagesPerHour: 1 }))
  time.is(...stuck('a', 'b', 'c', 'd'))
  expect(time.until(0)).toHaveLength(1)
  expect(time.until(36_000)).toEqual(['36000 s, chat, firing b, others held until 39600 s'])
})

test('a held alert that ends meanwhile is sent once, as resolved; one sent as firing is sent as resolved', () => {
  const time = new BookInTime(aSetup([each], {}, { messagesPerHour: 1 }))
  time.is(north)
  time.until(0)
  time.is(south)
  time.until(20)
  time.isNot(north, south)
  expect(time.until(30)).toEqual([])
  expect(time.until(3_600)).toEqual(['3600 s, chat, resolved north, others held until 7200 s'])
  expect(time.until(7_200)).toEqual(['7200 s, chat, resolved south, others held until 10800 s'])
})

test('critical alerts have a reserved part of the limit, and the message that fills it says so', () => {
  const critical = aRule({ id: 'worse', severity: 'critical', watch: 'node_down', groupBy: 'each', gatherSeconds: 0 })
  const time = new BookInTime(aSetup([each, critical], {}, { messagesPerHour: 1 }))
  time.is(...stuck('a', 'b'))
  expect(time.until(0)).toEqual(['0 s, chat, firing a, others held until 3600 s'])
  time.is(aSignal('north', { watch: 'node_down' }), aSignal('south', { watch: 'node_down' }))
  expect(time.until(10)).toEqual(['10 s, chat, firing north, all held until 3600 s'])
  expect(time.until(3_600)).toEqual(['3600 s, chat, firing south, all held until 3610 s'])
  expect([time.until(7_199), time.until(7_200)]).toEqual([[], ['7200 s, chat, firing b, others held until 10800 s']])
})

test('repeats may use half of the limit, so that they never block new alerts', () => {
  const again = aRule({ groupBy: 'each', gatherSeconds: 0, repeatSeconds: 60 })
  const time = new BookInTime(aSetup([again], {}, { messagesPerHour: 4 }))
  time.is(north)
  time.until(0)
  expect([time.until(60), time.until(120), time.until(180)]).toEqual([['60 s, chat, again north'], [], []])
  time.is(...stuck('a', 'b', 'c'))
  expect(time.until(180)).toEqual(['180 s, chat, firing a', '180 s, chat, firing b, others held until 3600 s'])
})

test('a higher limit sends held alerts at once, and another engine counts earlier messages', () => {
  const time = new BookInTime(aSetup([each], {}, { messagesPerHour: 1 }))
  time.is(...stuck('a', 'b', 'c'))
  const { messages, ...taken } = (time.book.advance(0), time.book.take())
  time.book = new AlertBook(() => 'new' as never)
  const setup = aSetup([each], {}, { messagesPerHour: 2 })
  time.book.restore({ ...structuredClone(taken), sent: messages }, setup, 60_000)
  expect(time.until(60)).toEqual(['60 s, chat, firing b, others held until 3600 s'])
})

test('a waiting repeat uses the part of the limit that its remaining alerts may use', () => {
  const rule = { gatherSeconds: 0, repeatSeconds: 60 }
  const limit = { messagesPerHour: 2 }
  const time = new BookInTime(aSetup([aRule({ ...rule, severity: 'critical' })], {}, limit))
  time.is(north)
  expect(time.until(0)).toEqual(['0 s, chat, firing north'])
  const critical = [...time.book.open()].map(({ id }) => id)
  time.configure(aSetup([aRule({ ...rule, severity: 'warning' })], {}, limit))
  time.is(south)
  expect(time.until(10)).toEqual(['10 s, chat, firing south, 1 still firing, others held until 3600 s'])
  time.until(100)
  time.book.acknowledge(critical, 'ada', 100_000)
  expect([time.until(3_600), time.until(3_610)]).toEqual([[], ['3610 s, chat, again south, 1 still firing']])
})

test('an alert that was pending when a wrong clock was set back still fires in time', () => {
  const book = new AlertBook(() => 'a' as never)
  const wrongMs = 3_600_000
  book.restore({ episodes: [], groups: [], sent: [] }, aSetup([aRule({ forSeconds: 60, gatherSeconds: 0 })]), wrongMs)
  book.receive(aSignal('north', { sinceMs: wrongMs }), wrongMs)
  for (const nowMs of [0, 30_000, 60_000]) {
    book.receive(aSignal('north', { sinceMs: 0 }), nowMs)
    book.advance(nowMs)
  }
  expect(book.take().messages).toMatchObject([{ atMs: 60_000 }])
})

test('a node that is down mutes nothing while its own alert goes to no channel', () => {
  const late = aRule({ id: 'late', watch: 'job_runs_long', gatherSeconds: 0 })
  const down = aRule({ id: 'down', watch: 'node_down', gatherSeconds: 0, channels: [] })
  const isDown = aSignal('north', { watch: 'node_down' })
  const job = aSignal('job', { watch: 'job_runs_long', labels: isDown.labels })
  const time = new BookInTime(aSetup([down, late]))
  time.is(isDown, job)
  expect(time.until(1)).toEqual(['0 s, chat, firing job'])

  const escalated = { ...down, escalation: { afterSeconds: 60, channels: late.channels } }
  const other = new BookInTime(aSetup([escalated, late]))
  other.is(isDown)
  expect(other.until(61)).toEqual(['60 s, chat, firing north'])
  other.is(job)
  expect(other.until(90)).toEqual([])
})
