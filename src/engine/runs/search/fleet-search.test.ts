import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import type { JobId } from '../../../shared/contract/index.ts'
import { aNewJob, anAttemptStart } from '../../testing/builders.ts'
import type { PoolTask, ThreadPool } from '../../runtime/thread-pool.ts'
import { scanLogs, type ScannedLog, type ScanOrder } from './scan/scan-logs.ts'
import { type ArchivedFleet, openArchivedFleet } from './testing/archived-fleet.ts'

const MIB = 1_048_576
const head = (level: string, text: string, time = '12:00:00') => `2026-11-02 ${time} [shop] ${level}: ${text}\n`
const filler = (bytes: number, word = 'page') =>
  Array.from({ length: Math.ceil(bytes / 60) }, (_, index) =>
    head('DEBUG', `${word} ${index}`.padEnd(60 - 35, '.'))
  ).join('')

describe('a search over all logs', () => {
  let fleet: ArchivedFleet
  const ids: Record<string, JobId> = {}

  beforeAll(async () => {
    fleet = await openArchivedFleet()
    ids['small'] = await fleet.add(
      head('INFO', 'order 4711 of Käse GmbH') + head('ERROR', 'failed') + 'Traceback\n  KeyError: 4711\n'
    )
    ids['plain'] = await fleet.add(`${head('INFO', 'nothing')}no order\n`, { project: aProjectName('news') })
    const large = Buffer.from(filler(2.4 * MIB))
    // Writes in the middle of the second frame, across its end, and after it.
    for (const at of [1.5 * MIB, 2 * MIB - 6, 2.25 * MIB]) large.write('order 4711!', at)
    ids['large'] = await fleet.add(large, { spider: 'offers', placement: { nodeId: aNodeId('node-2'), tags: [] } })
  })
  afterAll(() => fleet[Symbol.asyncDispose]())

  describe.each(['that are not in the index yet', 'whose blocks are still open', 'of which some are ruled out'])(
    '%s',
    (when) => {
      beforeAll(async () => {
        if (when.startsWith('whose')) await fleet.index.whenCaughtUp()
        // These small logs have their own block.
        if (when.startsWith('of'))
          for (let number = 0; number < 3; number += 1)
            await fleet.add(filler(0.9 * MIB, 'item'), { project: aProjectName('items') })
        if (when.startsWith('of')) await fleet.index.whenCaughtUp()
      })

      test('finds every line, newest jobs first, with its place and its record', async () => {
        const { hits, stoppedBy, cursor } = await fleet.searchAll({ text: 'ORDER 4711' })
        expect(hits.map(({ jobId }) => jobId)).toEqual([ids['large'], ids['large'], ids['large'], ids['small']])
        expect(hits.slice(0, 3).map(({ line, offset }) => offset / 60 + 1 - line)).toEqual([0, 0, 0])
        expect(hits.slice(0, 3).map(({ offset }) => Math.floor(offset / MIB))).toEqual([1, 1, 2])
        expect(hits[3]).toMatchObject({ line: 1, offset: 0, level: 'INFO', time: '2026-11-02 12:00:00', matchAt: 33 })
        expect(hits[3]).toMatchObject({ project: 'shop', nodeId: 'node-1', attemptNumber: 1, matchLength: 10 })
        expect([stoppedBy, cursor]).toEqual(['end', null])
      })

      test('by expression, level and facets', async () => {
        const spiders = async (input: Parameters<ArchivedFleet['search']>[0]) =>
          (await fleet.searchAll(input)).hits.map(({ jobId, line }) => [jobId, line])
        expect(await spiders({ text: String.raw`\w+: 4711$`, isRegex: true })).toEqual([[ids['small'], 4]])
        // The traceback belongs to the record above it.
        expect(await spiders({ text: '4711', minLevel: 'ERROR' })).toEqual([[ids['small'], 4]])
        expect(await spiders({ text: 'order', project: 'n*' })).toEqual([[ids['plain'], 2]])
        expect(await spiders({ text: 'order', nodeId: aNodeId('node-1'), spider: 'offers' })).toEqual([])
        expect(await spiders({ text: 'order 4712' })).toEqual([])
      })
    }
  )

  test('says what the index ruled out, and reads only the rest', async () => {
    const { hits, ruledOut, scanned } = await fleet.searchAll({ text: 'order 4711!' })
    expect(hits).toHaveLength(3)
    expect(ruledOut.logs).toBeGreaterThan(0)
    // The search does not read the first frame of the large log.
    expect(scanned.bytes).toBeLessThan(3.3 * MIB)
  })

  test('ends after a number of lines, and continues after them', async () => {
    const first = await fleet.searchAll({ text: 'order', mostHits: 2 })
    expect([first.hits.length, first.stoppedBy]).toEqual([2, 'hits'])
    const second = await fleet.searchAll({ text: 'order', mostHits: 2, cursor: first.cursor! })
    const third = await fleet.searchAll({ text: 'order', mostHits: 2, cursor: second.cursor! })
    const whole = await fleet.searchAll({ text: 'order' })
    expect([...first.hits, ...second.hits, ...third.hits]).toEqual(whole.hits)
    expect([third.stoppedBy, third.cursor]).toEqual(['end', null])
  })

  test('ends after a number of bytes, and continues with the next log', async () => {
    const found: unknown[] = []
    let cursor: string | undefined
    let rounds = 0
    do {
      const result = await fleet.searchAll({ text: '.rder', isRegex: true, maxBytes: MIB, ...(cursor && { cursor }) })
      found.push(...result.hits)
      cursor = result.cursor ?? undefined
      rounds += 1
    } while (cursor !== undefined)
    expect(rounds).toBeGreaterThan(2)
    expect(found).toEqual((await fleet.searchAll({ text: 'order' })).hits)
  })

  test('ends after its time limit, even within an expression that does not end', async () => {
    await fleet.add(`${'a'.repeat(60)}b\n`, { project: aProjectName('evil') })
    const query = { text: '(a+)+$', isRegex: true, maxSeconds: 0.3, project: 'evil' }
    expect(await fleet.searchAll(query)).toMatchObject({ hits: [], stoppedBy: 'time' })
    expect((await fleet.searchAll({ text: 'order 4711' })).hits).toHaveLength(4)
  })

  test('is not blocked by a log whose lines have no heads', async () => {
    const project = aProjectName('headless')
    const lines = 'x\n'.repeat(0.3 * MIB)
    await fleet.add(head('ERROR', 'a page follows') + lines + head('INFO', 'end') + lines, { project })
    const { hits } = await fleet.searchAll({ text: 'x', project, minLevel: 'ERROR', mostHits: 2 })
    expect(hits.map(({ line, level }) => [line, level])).toEqual([
      [2, 'ERROR'],
      [3, 'ERROR']
    ])
    // Every line matches, but none has this level.
    const all = await fleet.searchAll({ text: 'x', project, minLevel: 'CRITICAL' })
    expect(all).toMatchObject({ hits: [], stoppedBy: 'end', unreadable: 0 })
  })

  test('ends when its client has left', async () => {
    const aborting = new AbortController()
    const reading = (async () => {
      for await (const _ of fleet.search({ text: 'page' }, aborting.signal)) aborting.abort(new Error('left'))
    })()
    await expect(reading).rejects.toThrow('left')
  })

  test('refuses an invalid expression, and a cursor of another search', async () => {
    await expect(fleet.searchAll({ text: '(', isRegex: true })).rejects.toMatchObject({ code: 'BAD_INPUT' })
    await expect(fleet.searchAll({ text: 'a', cursor: 'page 2' })).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })

  describe('over runs that are not archived', () => {
    const project = aProjectName('live')
    let [archived, over, running]: JobId[] = []

    beforeAll(async () => {
      over = await fleet.addUnarchived(head('INFO', 'starts') + head('ERROR', 'parcel 7 is lost'), {
        project,
        isOver: true
      })
      archived = await fleet.add(head('INFO', 'parcel 7 arrived'), { project })
      running = await fleet.addUnarchived(`${head('INFO', 'parcel 7 left')}parcel 7 of`, { project, spider: 'parcels' })
      const job = aNewJob({ project })
      await fleet.store.enqueueJobs([job])
      await fleet.store.beginAttempts([anAttemptStart(job)])
    })

    test('returns these first, with their lines and records', async () => {
      const { hits, scanned, unreadable, stoppedBy } = await fleet.searchAll({ text: 'parcel 7', project })
      expect(hits.map(({ jobId, line }) => [jobId, line])).toEqual([
        [running, 1],
        [running, 2],
        [over, 2],
        [archived, 1]
      ])
      expect(hits[2]).toMatchObject({ level: 'ERROR', attemptNumber: 1, nodeId: 'node-1', project })
      expect([scanned.logs, unreadable, stoppedBy]).toEqual([3, 0, 'end'])
    })

    test('applies the filters to them, too', async () => {
      const jobsOf = async (input: Partial<Parameters<ArchivedFleet['search']>[0]>) =>
        (await fleet.searchAll({ text: 'parcel', project, ...input })).hits.map(({ jobId }) => jobId)
      expect(await jobsOf({ spider: 'parcels' })).toEqual([running, running])
      expect(await jobsOf({ outcome: 'succeeded' })).toEqual([over, archived])
      expect(await jobsOf({ minLevel: 'ERROR' })).toEqual([over])
      expect(await jobsOf({ nodeId: aNodeId('node-2') })).toEqual([])
    })

    test('continues there after it ended among them, then in the archive', async () => {
      const found = []
      let cursor: string | undefined
      do {
        const part = await fleet.searchAll({ text: 'parcel 7', project, mostHits: 1, ...(cursor && { cursor }) })
        found.push(...part.hits)
        cursor = part.cursor ?? undefined
      } while (cursor !== undefined)
      expect(found).toEqual((await fleet.searchAll({ text: 'parcel 7', project })).hits)
    })

    test('reads a run once if it is archived meanwhile', async () => {
      const moved = await fleet.addUnarchived(head('INFO', 'parcel 8'), { project, isOver: true })
      fleet.archiveWhenRead(moved)
      const { hits } = await fleet.searchAll({ text: 'parcel 8', project })
      expect(hits.map(({ jobId }) => jobId)).toEqual([moved])
      expect((await fleet.searchAll({ text: 'parcel 8', project })).hits).toEqual(hits)
    })
  })

  test('skips a log that is damaged or gone', async () => {
    const job = await fleet.add(filler(0.2 * MIB, 'lost order'), { project: aProjectName('gone') })
    await fleet.blobs.delete(`logs/${job}-1.zst`)
    const { unreadable, hits } = await fleet.searchAll({ text: 'order' })
    expect(unreadable).toBe(1)
    expect(hits.length).toBeGreaterThan(4)
  })

  test('finds the same after a restart, and after the index was deleted', async () => {
    const whole = (await fleet.searchAll({ text: 'order' })).hits
    for (const isDeleted of [false, true]) {
      await fleet.reopenIndex({ isDeleted })
      expect((await fleet.searchAll({ text: 'order' })).hits).toEqual(whole)
      await fleet.index.whenCaughtUp()
      expect((await fleet.searchAll({ text: 'order' })).hits).toEqual(whole)
    }
    expect(await readdir(join(fleet.indexDirectory, 'format-2'))).toEqual(['0.rows'])
    const { ruledOut } = await fleet.searchAll({ text: 'order 4711!' })
    expect(ruledOut.logs).toBeGreaterThan(0)
  })
})

test('times are those of the run, whatever the zone of its log', async () => {
  await using fleet = await openArchivedFleet()
  const startedAtMs = Date.UTC(2026, 10, 2, 10)
  const job = await fleet.add(
    head('INFO', 'first', '12:00:01') + head('INFO', 'second', '12:30:00') + 'still the second\n'
  )
  const kept = await fleet.store.readKeptLogs([{ jobId: job, number: 1 as never }])
  const page = await fleet.store.pageKeptLogs({}, { before: null, limit: 10, candidates: null })
  Object.assign(fleet.store, {
    readKeptLogs: async () => kept.map((log) => ({ ...log, startedAtMs })),
    pageKeptLogs: async () => page
  })
  const linesIn = async (since: number, until: number) => {
    const range = { sinceMs: startedAtMs + since * 60_000, untilMs: startedAtMs + until * 60_000 }
    return (await fleet.searchAll({ text: 's', ...range })).hits.map(({ line }) => line)
  }
  expect(await linesIn(0, 10)).toEqual([1])
  expect(await linesIn(29, 40)).toEqual([2, 3])
  expect(await linesIn(-40, -1)).toEqual([])
})

test('logs on which an expression takes too long are reported as unreadable, until the expression must be the reason', async () => {
  await using fleet = await openArchivedFleet()
  const ids: JobId[] = []
  for (let number = 0; number < 6; number += 1) ids.push(await fleet.add(`line ${number}\n`))
  const hangingAt = (places: number[]): Pick<ThreadPool, 'run'> => ({
    async run<Result>({ input, onPart, tooSlow }: PoolTask<never>) {
      for (const [index, log] of (input as ScanOrder).logs.entries()) {
        const order = { ...(input as ScanOrder), logs: [log] }
        let found: ScannedLog[] = []
        await scanLogs(order, { emit: (part) => (found = part), isStopped: () => false })
        if (places.some((place) => found[0]!.hits[0]?.text === `line ${place}`)) throw tooSlow!()
        onPart!([{ ...found[0]!, index }] as never)
      }
      return undefined as Result
    }
  })
  const search = async (threads: Pick<ThreadPool, 'run'>) => {
    const found: JobId[] = []
    let unreadable = 0
    for await (const progress of fleet.search({ text: 'line' }, undefined, threads)) {
      found.push(...progress.hits.map(({ jobId }) => jobId))
      unreadable = progress.unreadable
    }
    return { found, unreadable }
  }
  const [a, b, , d, e] = ids
  expect(await search(hangingAt([5, 2]))).toEqual({ found: [e, d, b, a], unreadable: 2 })
  await expect(search(hangingAt([5, 2, 0]))).rejects.toMatchObject({ code: 'BAD_INPUT' })
})
