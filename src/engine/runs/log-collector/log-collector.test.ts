import { describe, expect, it, onTestFinished } from 'vitest'
import { anAttemptNumber, aJobId, aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import { LogCopies } from '../logs/archive/log-copies.ts'
import type { Fleet, FleetNode } from '../../nodes/fleet.ts'
import type { NodeClient } from '../../nodes/node-client.ts'
import { scripted } from '../../nodes/scrapyd/testing/scripted-client.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { FakeNode } from '../../testing/fake-node.ts'
import { createMemoryArchive } from '../../testing/memory-archive.ts'
import { advanceUntil } from '../../testing/until.ts'
import { type GrowingRun, LogCollector } from './log-collector.ts'
import { LogReading } from './log-reading.ts'

const SECOND_MS = 1_000
const PAGE = '2026-11-02 12:00:00 [scrapy.core.engine] DEBUG: Crawled (200) <GET https://a.example/> (referer: None)\n'

/** A collector of runs on remote nodes that records each read. Each node is a `FakeNode` unless `client` is given. */
function collect({ nodes: count = 1, client }: { nodes?: number; client?: NodeClient } = {}) {
  const clock = createFakeClock()
  const reads: { jobid: string; nodeId: string; atMs: number; offset: number }[] = []
  const most = { onOneNode: 0 }
  const nodes = Array.from({ length: count }, () => new FakeNode(clock, { slots: 0 }))
  const delay = { of: async (_jobid: string) => {} }
  const readingOn = new Map<string, number>()
  const entries = new Map(
    nodes.map((node, index) => {
      const nodeId = `node-${index}`
      const inner = client ?? node
      const readLog: NodeClient['readLog'] = async (run, range, signal) => {
        reads.push({ jobid: run.jobid, nodeId, atMs: clock.monotonicMs(), offset: range.offset })
        readingOn.set(nodeId, (readingOn.get(nodeId) ?? 0) + 1)
        most.onOneNode = Math.max(most.onOneNode, readingOn.get(nodeId)!)
        try {
          await delay.of(run.jobid)
          return await inner.readLog(run, range, signal)
        } finally {
          readingOn.set(nodeId, readingOn.get(nodeId)! - 1)
        }
      }
      return [nodeId, { status: { health: 'up' }, client: { traits: inner.traits, readLog } }] as const
    })
  )
  const fleet = { get: (nodeId: string) => entries.get(nodeId) } as unknown as Fleet
  const archive = createMemoryArchive({} as never)
  const begin = () => {
    const collector = new LogCollector({
      store: { recordReadings: async () => {} },
      clock,
      logger: silentLogger,
      archive,
      fleet,
      runLimitsOf: () => null
    })
    onTestFinished(() => collector.stop())
    return collector
  }
  const collector = begin()
  const jobIdOf = (number: number) => aJobId(String(number).padStart(32, '0'))
  return {
    /** Starts a new collector, which only knows what is on disk. */
    beginAnew() {
      collector.stop()
      return begin()
    },
    clock,
    collector,
    reads,
    nodes,
    delay,
    most,
    archive,
    jobIdOf,
    run: (number: number, { node = 0, spider = `s${number}` } = {}): GrowingRun => ({
      jobId: jobIdOf(number),
      number: anAttemptNumber(1),
      jobid: `run-${number}`,
      nodeId: aNodeId(`node-${node}`),
      project: aProjectName('shop'),
      spider,
      startedAtMs: clock.nowMs(),
      runLimits: null
    }),
    crawl(number: number, pages: number, node = 0) {
      const { logs } = nodes[node]!
      logs.set(`run-${number}`, (logs.get(`run-${number}`) ?? '') + PAGE.repeat(pages))
    },
    timesOf: (number: number) => reads.filter(({ jobid }) => jobid === `run-${number}`).map(({ atMs }) => atMs),
    pagesOf: (number: number) => collector.liveOf(jobIdOf(number))?.pages ?? null
  }
}

const gaps = (times: readonly number[]) => times.slice(1).map((atMs, index) => atMs - times[index]!)

describe('the logs of running remote jobs', () => {
  it('are read every ten seconds while they grow, each with one request, a thousand of them', async () => {
    const { clock, collector, crawl, reads, run, timesOf } = collect({ nodes: 100 })
    const runs = Array.from({ length: 1_000 }, (_, index) => index)
    for (const number of runs) collector.follow(run(number, { node: number % 100 }))
    for (let second = 0; second < 40; second += 1) {
      for (const number of runs) crawl(number, 1, number % 100)
      await clock.advanceBy(SECOND_MS)
    }
    for (const number of runs) {
      const times = timesOf(number)
      expect(times.length).toBeGreaterThanOrEqual(3)
      expect(Math.max(...gaps(times))).toBeLessThanOrEqual(10 * SECOND_MS)
    }
    expect(reads.length).toBeLessThan(1_000 * 5)
  })

  it('are read again from their copies by the next engine: a node sends no byte twice', async () => {
    const { clock, collector, beginAnew, crawl, reads, run, jobIdOf } = collect()
    collector.follow(run(1))
    crawl(1, 500)
    await clock.advanceBy(15 * SECOND_MS)
    expect(collector.liveOf(jobIdOf(1))?.pages).toBe(500)
    reads.length = 0
    const next = beginAnew()
    next.follow(run(1))
    crawl(1, 1)
    await clock.advanceBy(15 * SECOND_MS)
    expect(next.liveOf(jobIdOf(1))?.pages).toBe(501)
    expect(Math.min(...reads.map(({ offset }) => offset))).toBe(500 * PAGE.length)
  })

  it('are read in turn when there are more than can be read in time', async () => {
    const { clock, collector, crawl, reads, run } = collect({ nodes: 50 })
    const runs = Array.from({ length: 2_500 }, (_, index) => index)
    for (const number of runs) collector.follow(run(number, { node: number % 50 }))
    for (const number of runs) crawl(number, 2, number % 50)
    await clock.advanceBy(30 * SECOND_MS)
    expect(reads.length).toBeLessThanOrEqual(30 * 200 + 100)
    expect(new Set(reads.slice(0, 2_500).map(({ jobid }) => jobid)).size).toBe(2_500)
  })

  it('are requested two at a time from one node, and a slow node delays no other', async () => {
    const { clock, collector, crawl, delay, most, pagesOf, run } = collect({ nodes: 2 })
    const isSlow = (jobid: string) => Number(jobid.slice(4)) < 20
    delay.of = async (jobid) => void (isSlow(jobid) && (await new Promise(() => {})))
    for (let number = 0; number < 40; number += 1) {
      const node = number < 20 ? 0 : 1
      collector.follow(run(number, { node }))
      crawl(number, 2, node)
    }
    await clock.advanceBy(10 * SECOND_MS)
    expect(most.onOneNode).toBe(2)
    for (let number = 20; number < 40; number += 1) expect(pagesOf(number)).toBe(2)
  })

  it('are read less often while nothing is added, and not at all once their runs have ended', async () => {
    const { clock, collector, crawl, reads, run, timesOf } = collect()
    collector.follow(run(1))
    crawl(1, 2)
    await clock.advanceBy(200 * SECOND_MS)
    expect(gaps(timesOf(1)).at(-1)).toBeGreaterThanOrEqual(30 * SECOND_MS)
    collector.forget(run(1))
    const before = reads.length
    await clock.advanceBy(200 * SECOND_MS)
    expect(reads).toHaveLength(before)
    expect(clock.timerCount()).toBe(0)
  })

  it('are read every second while other runs of the spider may delete them, and at once when one starts', async () => {
    const { clock, collector, crawl, run, timesOf } = collect()
    collector.follow(run(1, { spider: 'prices' }))
    crawl(1, 2)
    await clock.advanceBy(5 * SECOND_MS)
    const before = timesOf(1).length
    collector.follow(run(2, { spider: 'prices' }))
    await clock.advanceBy(300)
    expect(timesOf(1)).toHaveLength(before + 1)
    collector.follow(run(3, { spider: 'prices' }))
    await clock.advanceBy(10 * SECOND_MS)
    expect(Math.max(...gaps(timesOf(1)).slice(-5))).toBeLessThanOrEqual(1_500)
  })

  it('keep their figures when their node deletes them', async () => {
    const { archive, clock, collector, crawl, jobIdOf, nodes, pagesOf, run } = collect()
    collector.follow(run(1))
    crawl(1, 3)
    await clock.advanceBy(5 * SECOND_MS)
    nodes[0]!.logs.delete('run-1')
    await clock.advanceBy(60 * SECOND_MS)
    expect(pagesOf(1)).toBe(3)
    expect(await archive.copies.sizeBytes(jobIdOf(1), anAttemptNumber(1))).toBe(PAGE.length * 3)
  })

  it('continue where they stopped after an outage of a node, each byte once', async () => {
    const { clock, collector, crawl, jobIdOf, nodes, run } = collect()
    collector.follow(run(1))
    crawl(1, 30_000)
    await clock.advanceBy(3_250)
    expect(collector.figuresOf(jobIdOf(1))!.bytes).toBe(2 * 1_048_576)
    nodes[0]!.isDown = true
    await clock.advanceBy(60 * SECOND_MS)
    nodes[0]!.isDown = false
    await clock.advanceBy(60 * SECOND_MS)
    expect(collector.figuresOf(jobIdOf(1))).toMatchObject({ bytes: 30_000 * PAGE.length, pages: 30_000 })
  })

  it('start again when another file has their name', async () => {
    const { clock, collector, crawl, jobIdOf, nodes, run } = collect()
    collector.follow(run(1))
    crawl(1, 100)
    await clock.advanceBy(20 * SECOND_MS)
    nodes[0]!.logs.set('run-1', PAGE.replaceAll('12:00', '13:00').repeat(5))
    await clock.advanceBy(20 * SECOND_MS)
    expect(collector.figuresOf(jobIdOf(1))).toMatchObject({ bytes: 5 * PAGE.length, pages: 5 })
  })

  it('may be copied by another reader meanwhile: each byte is still read once', async () => {
    const { archive, clock, collector, crawl, jobIdOf, nodes, run } = collect()
    collector.follow(run(1))
    for (let round = 0; round < 10; round += 1) {
      crawl(1, 5)
      const read = (range: { offset: number; limitBytes: number }) => nodes[0]!.readLog(run(1), range)
      await archive.copies.advance(jobIdOf(1), anAttemptNumber(1), read)
      crawl(1, 5)
      await clock.advanceBy(7 * SECOND_MS)
    }
    await clock.advanceBy(10 * SECOND_MS)
    expect(collector.figuresOf(jobIdOf(1))).toMatchObject({ bytes: 100 * PAGE.length, pages: 100 })
  })

  it('are also read from a server that ignores Range', async () => {
    let log = PAGE.repeat(2_000)
    const { client } = await scripted((_request, response) => void response.end(log))
    const { clock, collector, jobIdOf, run } = collect({ client })
    collector.follow(run(1))
    const isRead = () => collector.figuresOf(jobIdOf(1))?.bytes === log.length
    await advanceUntil(clock, isRead)
    log += PAGE.repeat(10)
    await advanceUntil(clock, isRead)
    expect(collector.figuresOf(jobIdOf(1))).toMatchObject({ pages: 2_010 })
  })

  it('that are deleted before a line was read leave nothing in memory', async () => {
    const begun: string[] = []
    const begin = (name: string) => {
      begun.push(name)
      throw new Error('there is nothing to copy')
    }
    const copies = new LogCopies({ list: async () => [], begin, open: async (name) => begin(name) })
    const { run } = collect()
    const node = { client: { traits: { keepsLogs: false } } } as FleetNode
    await new LogReading(run(1), copies).finish(node, null, new AbortController().signal)
    expect(begun).toEqual([])
  })

  it('with too much unread in the middle keep their head, which shows whether they have the end', async () => {
    const head = Buffer.from('2026-11-02 12:00:00 [scrapy.core.engine] INFO: Spider opened\n')
    const sizeBytes = 100_000_000
    const bytesAt = (offset: number, length: number) => {
      const bytes = Buffer.alloc(Math.max(0, Math.min(length, sizeBytes - offset)), `${'x'.repeat(65_535)}\n`)
      if (offset === 0) head.copy(bytes)
      return { offset, sizeBytes, bytes }
    }
    const { run } = collect()
    const readLog: NodeClient['readLog'] = async (_run, { offset, limitBytes }) => bytesAt(offset, limitBytes)
    const node = { client: { traits: { keepsLogs: true }, readLog } } as FleetNode
    const reading = new LogReading(run(1), undefined as never)
    await reading.finish(node, bytesAt(sizeBytes - 1_000, 1_000), new AbortController().signal)
    expect(reading.parser.figures()).toMatchObject({ showsEnd: true, isPartial: true })
  })
})
