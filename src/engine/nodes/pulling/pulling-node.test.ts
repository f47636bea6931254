import { Readable } from 'node:stream'
import { beforeEach, expect, test } from 'vitest'
import type { AttemptState, ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import type { ScheduleRequest } from '../node-client.ts'
import { type ListedRun, type OpenMessage, PollMessage } from './messages.ts'
import { PullingNode } from './pulling-node.ts'

const STATUS = { pending: 0, running: 0, timeMs: 1_800_000_000_400 }
const SHOP = 'shop' as ProjectName
const NEVER = new AbortController().signal

let clock: FakeClock
let node: PullingNode
let states: Record<string, AttemptState>
let oldestSentAtMs: number | null
let news: number
let sessions: number

beforeEach(() => {
  clock = createFakeClock()
  states = {}
  oldestSentAtMs = null
  news = 0
  sessions = 0
  node = createNode()
})

function createNode(): PullingNode {
  return new PullingNode({
    name: () => 'nat-1',
    belief: { stateOf: ({ jobid }) => states[jobid] ?? null, oldestSentAtMs: () => oldestSentAtMs },
    eggOf: () => ({ sha256: 'a'.repeat(64), sizeBytes: 3, open: async () => Readable.from(['egg']) }),
    onNews: () => (news += 1),
    onOpened: () => {},
    onClosed: () => {},
    clock
  })
}

function open(over: Partial<OpenMessage> = {}, on = node) {
  sessions += 1
  const session = sessions.toString(16).padStart(32, '0')
  const message: OpenMessage = {
    protocol: 1,
    session,
    instance: '1'.repeat(32),
    lastEpoch: 0,
    isTakeover: true,
    journalSeconds: 1_000,
    hostname: 'vm',
    package: '1.0.0',
    scrapyd: '1.6.0',
    slots: 2,
    ...over
  }
  return { session, epoch: on.open(message).epoch }
}

const poll = (stamp: { session: string; epoch: number }, acked = 0, gone = NEVER, on = node) =>
  on.poll({ ...stamp, acked, waitSeconds: 20, status: STATUS }, gone)

const claim = (stamp: { session: string; epoch: number }, jobid: string, on = node) =>
  on.claim({ ...stamp, runs: [{ project: 'shop', jobid }] })[0]

function schedule(jobid: string, signal?: AbortSignal, over: Partial<ScheduleRequest> = {}) {
  states[jobid] = 'sending'
  const request: ScheduleRequest = {
    project: SHOP,
    version: '1' as VersionName,
    spider: 'prices',
    jobid,
    settings: {},
    args: {},
    priority: 0,
    isVersionAsked: false,
    secretNames: [],
    limits: null,
    ...over
  }
  return node.schedule(request, signal)
}

const listed = (jobid: string, over: Partial<ListedRun> = {}): ListedRun => ({
  project: 'shop',
  jobid,
  spider: 'prices',
  pid: null,
  startTime: null,
  endTime: null,
  exitCode: null,
  exitSignal: null,
  isAcked: false,
  ...over
})

const lists = (over: { claiming?: ListedRun[]; pending?: ListedRun[]; finished?: ListedRun[] } = {}) => ({
  claiming: [],
  pending: [],
  running: [],
  finished: [],
  status: STATUS,
  ...over
})

test('an offer reaches a waiting poll at once, and is accepted when it is claimed', async () => {
  const stamp = open()
  const waiting = poll(stamp)
  const sent = schedule('a')
  const [command] = await waiting
  expect(command).toMatchObject({ n: 1, kind: 'offer', offer: { jobid: 'a', egg: { sizeBytes: 3 } } })
  expect(claim(stamp, 'a')).toBe('granted')
  expect(await sent).toEqual({ jobid: 'a' })
  // The response was lost, so the node claims again.
  expect(claim(stamp, 'a')).toBe('granted')
})

test('a run that no process there can start is not offered', async () => {
  open()
  const args = { urls: 'x'.repeat(140_000) }
  await expect(schedule('a', undefined, { args })).rejects.toMatchObject({ refusal: 'unrunnable', delivered: 'no' })
})

test('an offer that is not claimed is withdrawn, and proved not to have arrived', async () => {
  const stamp = open()
  void poll(stamp)
  const sent = schedule('a').catch((error: unknown) => error)
  for (let seconds = 0; seconds < 64; seconds += 4) {
    await clock.advanceBy(4_000)
    void poll(stamp, 1)
  }
  expect(await sent).toMatchObject({ kind: 'timeout', delivered: 'no' })
  expect(claim(stamp, 'a')).toBe('gone')
  expect((await poll(stamp, 1)).map(({ kind }) => kind)).toEqual(['withdraw'])
})

test('a silent node loses its offers after seconds, and gets no more', async () => {
  const stamp = open()
  const gone = new AbortController()
  void poll(stamp, 0, gone.signal)
  const sent = schedule('a').catch((error: unknown) => error)
  gone.abort()
  await clock.advanceBy(12_000)
  expect(await sent).toMatchObject({ kind: 'unreachable', delivered: 'no' })
  await expect(schedule('b')).rejects.toMatchObject({ kind: 'unreachable', delivered: 'no' })
  await expect(node.daemonStatus()).rejects.toThrow('nat-1 has not asked for jobs for 12 s. Is its Scrapyd running?')
})

test('after a restart of the node, the new session gets the unclaimed offers, and the old one gets nothing', async () => {
  const old = open()
  void poll(old)
  const sent = schedule('a')
  const stamp = open()
  expect(stamp.epoch).toBe(old.epoch + 1)
  expect((await poll(stamp)).map(({ kind }) => kind)).toEqual(['offer'])
  expect(() => claim(old, 'a')).toThrow(expect.objectContaining({ code: 'NODE_SESSION_SUPERSEDED' }))
  expect(claim(stamp, 'a')).toBe('granted')
  await sent
})

test('a run that was given up is not granted, even if the response to an earlier claim was lost', async () => {
  const stamp = open()
  const [granted, offered] = [schedule('a'), schedule('b')]
  expect(claim(stamp, 'a')).toBe('granted')
  await granted
  states = {}
  expect([claim(stamp, 'a'), claim(stamp, 'b')]).toEqual(['gone', 'gone'])
  await expect(offered).rejects.toMatchObject({ delivered: 'no' })
  expect(await poll(stamp)).not.toContainEqual(
    expect.objectContaining({ offer: expect.objectContaining({ jobid: 'b' }) })
  )
})

test('after a restart of Scrapdeck, a job that an earlier engine sent is granted once it counts as accepted', async () => {
  const restarted = createNode()
  states['a'] = 'uncertain'
  expect(() => claim({ session: 'f'.repeat(32), epoch: 4 }, 'a', restarted)).toThrow(
    expect.objectContaining({ code: 'NODE_SESSION_UNKNOWN' })
  )
  const stamp = open({ lastEpoch: 4 }, restarted)
  expect(stamp.epoch).toBe(5)
  expect(claim(stamp, 'a', restarted)).toBe('wait')
  const snapshot = restarted.listJobs()
  const [command] = await poll(stamp, 0, NEVER, restarted)
  restarted.receiveLists({ ...stamp, through: command!.n, ...lists({ claiming: [listed('a'), listed('stranger')] }) })
  // Listing the run makes its attempt accepted (reconcile.ts). The other run is unknown.
  expect((await snapshot).pending.map(({ jobid }) => jobid)).toEqual(['a'])
  states['a'] = 'accepted'
  expect([claim(stamp, 'a', restarted), claim(stamp, 'stranger', restarted)]).toEqual(['granted', 'gone'])
})

test('a second Scrapyd with the same token is refused while the first is connected', () => {
  const first = open()
  void poll(first)
  const other = { instance: '2'.repeat(32), hostname: 'clone' }
  expect(() => open(other)).toThrow(expect.objectContaining({ code: 'NODE_SESSION_HELD' }))
  // A copy of the disk takes over the session. The superseded node continues to poll and waits.
  open()
  expect(() => open({ isTakeover: false })).toThrow(expect.objectContaining({ code: 'NODE_SESSION_HELD' }))
  expect(() => claim(first, 'a')).toThrow(expect.objectContaining({ code: 'NODE_SESSION_SUPERSEDED' }))
})

test('lists count only if the node executed the request for them', async () => {
  const stamp = open()
  const snapshot = node.listJobs()
  const [command] = await poll(stamp)
  const before = news
  node.receiveLists({ ...stamp, through: command!.n - 1, ...lists({ pending: [listed('early')] }) })
  expect(news).toBe(before + 1)
  node.receiveLists({ ...stamp, through: command!.n, ...lists({ pending: [listed('late')] }) })
  expect((await snapshot).pending.map(({ jobid }) => jobid)).toEqual(['late'])
  expect(news).toBe(before + 1)
})

test('an end is acknowledged once it is recorded: seen twice, and no longer live', async () => {
  const stamp = open()
  let acked = 0
  const look = async () => {
    const snapshot = node.listJobs()
    const commands = await poll(stamp, acked)
    acked = commands.at(-1)!.n
    node.receiveLists({ ...stamp, through: acked, ...lists({ finished: [listed('a', { exitCode: 0 })] }) })
    const { finished } = await snapshot
    return { kinds: commands.map(({ kind }) => kind), exit: finished[0]!.exit }
  }
  states['a'] = 'running'
  expect(await look()).toMatchObject({ kinds: ['list'], exit: { code: 0, signal: null } })
  expect((await look()).kinds).toEqual(['list'])
  delete states['a']
  expect((await look()).kinds).toEqual(['list'])
  expect((await look()).kinds).toEqual(['list'])
  expect((await look()).kinds).toEqual(['ack', 'list'])
})

test('a file is read in parts of a megabyte, and never mixed with another one of the same name', async () => {
  const stamp = open()
  const run = { project: SHOP, spider: 'prices', jobid: 'a' }
  const MB = 1024 * 1024
  const answer = async (acked: number, file: string, size: number) => {
    const [command] = await poll(stamp, acked)
    if (command?.kind !== 'read') throw new Error('no read')
    const { id, offset, limitBytes, n } = command
    node.receiveData({ ...stamp, id, offset, size, file }, Buffer.alloc(Math.min(limitBytes, size - offset), file))
    return n
  }
  const whole = node.readLog(run, { offset: 0, limitBytes: 3 * MB })
  const acked = await answer(await answer(0, 'x', MB + 5), 'x', MB + 5)
  expect((await whole)!.bytes).toHaveLength(MB + 5)
  const mixed = node.readLog(run, { offset: 0, limitBytes: 3 * MB })
  await answer(await answer(acked, 'x', MB + 5), 'y', MB + 5)
  expect((await mixed)!.bytes).toHaveLength(MB)
  expect((await mixed)!.fileId).toBe('x')
})

test.each([
  ['ProcessLookupError: it has ended', { kind: 'refused', refusal: 'process_ended' }],
  ['OSError: Scrapyd is too busy to send a signal', { kind: 'http', refusal: 'other' }]
])('a signal that finds no process differs from one that failed: %s', async (problem, failure) => {
  const stamp = open()
  const cancelled = node.cancel({ project: SHOP, jobid: 'a', signal: 'INT' }).catch((error: unknown) => error)
  const [command] = await poll(stamp)
  node.receiveAnswer({ ...stamp, id: (command as { id: number }).id, problem })
  expect(await cancelled).toMatchObject(failure)
})

test('a revoked token ends all waiting requests', async () => {
  const stamp = open()
  const cancelled = node.cancel({ project: SHOP, jobid: 'a', signal: 'INT' }).catch((error: unknown) => error)
  node.disconnect()
  expect(await cancelled).toMatchObject({ kind: 'reset' })
  expect(() => claim(stamp, 'a')).toThrow(expect.objectContaining({ code: 'NODE_SESSION_UNKNOWN' }))
})

test('a journal that is younger than a run proves nothing about it', () => {
  expect(node.traits.remembersAll).toBe(false)
  open({ journalSeconds: 1_000 })
  expect(node.traits.remembersAll).toBe(true)
  oldestSentAtMs = clock.nowMs() - 500_000
  expect(node.traits.remembersAll).toBe(true)
  oldestSentAtMs = clock.nowMs() - 2_000_000
  expect(node.traits.remembersAll).toBe(false)
})

const bytesOf = (text: string) => new TextEncoder().encode(text)

async function readAsked(stamp: { session: string; epoch: number }, range = { offset: 4, limitBytes: 10 }) {
  const reading = node.readLog({ project: SHOP, spider: 'prices', jobid: 'a' }, range)
  reading.catch(() => {})
  const [command] = await poll(stamp)
  return { reading, id: (command as unknown as { id: number }).id }
}

test('bytes of a file are not accepted as the response to a cancel, and vice versa', async () => {
  const stamp = open()
  const cancelling = node.cancel({ project: SHOP, jobid: 'a', signal: 'INT' })
  const [command] = await poll(stamp)
  const { id, n } = command as unknown as { id: number; n: number }
  node.receiveData({ ...stamp, id, offset: 0, size: 0, none: '1' }, bytesOf(''))
  await expect(cancelling).rejects.toMatchObject({ kind: 'not_scrapyd' })
  const reading = node.readLog({ project: SHOP, spider: 'prices', jobid: 'a' }, { offset: 0, limitBytes: 10 })
  const [read] = await poll(stamp, n)
  node.receiveAnswer({ ...stamp, id: (read as unknown as { id: number }).id, wasState: 'running' } as never)
  await expect(reading).rejects.toMatchObject({ kind: 'not_scrapyd' })
})

test.each([
  ['another offset', { offset: 9, size: 100 }, 'abc'],
  ['an offset as large as there is', { offset: Number.MAX_SAFE_INTEGER, size: 0 }, 'abc'],
  ['more than the file has', { offset: 4, size: 5 }, 'abc'],
  ['more than was asked for', { offset: 4, size: 100 }, 'abcdefghijk']
])('a part of a file with %s is refused', async (_what, where, text) => {
  const stamp = open()
  const { reading, id } = await readAsked(stamp)
  node.receiveData({ ...stamp, id, ...where }, bytesOf(text))
  await expect(reading).rejects.toMatchObject({ kind: 'not_scrapyd' })
})

test('a node that sends a file byte by byte gets no further requests', async () => {
  const stamp = open()
  const { reading, id } = await readAsked(stamp)
  node.receiveData({ ...stamp, id, offset: 4, size: Number.MAX_SAFE_INTEGER, file: 'f' }, bytesOf('a'))
  expect(await reading).toMatchObject({ offset: 4, bytes: bytesOf('a') })
})

test('an impossible clock is refused, so that the list of nodes stays readable', () => {
  for (const timeMs of [1e308, -1e308, 8.64e15 + 2]) {
    const message = { session: '1'.repeat(32), epoch: 1, acked: 0, waitSeconds: 1, status: { ...STATUS, timeMs } }
    expect(PollMessage.safeParse(message).success).toBe(false)
  }
})
