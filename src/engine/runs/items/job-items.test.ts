import { existsSync } from 'node:fs'
import { appendFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Attempt, ExportProgress, JobId } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { anAttemptNumber, aNodeId } from '../../../shared/testing/ids.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { systemRandom } from '../../runtime/random.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { ITEMS_LIMITS, ItemsCache, type ItemsLimits } from './items-cache.ts'
import { JobItems, type JobItemsParts } from './job-items.ts'
import { aPage, jsonLines } from './testing/items-files.ts'
import { isCore } from '../../../../scripts/test-length.mjs'

const ID = 'a'.repeat(32) as JobId
const items = (count: number) => jsonLines(Array.from({ length: count }, (_, at) => ({ at, name: `item ${at}` })))

/** A job with one attempt on `node`. `remote` is its items file there, `local` the one on the local node. */
async function open(
  over: {
    node?: string
    state?: Attempt['state']
    limits?: Partial<ItemsLimits>
    whyNoDuckdb?: string
    isKept?: true
    whyGone?: ScrapdeckError
  } = {}
) {
  const directory = await makeTemporaryDirectory()
  const local = join(directory.path, 'run.jl')
  const remote = { bytes: null as Buffer | null, asked: [] as number[], failure: null as Error | null }
  const attempt = {
    jobId: ID,
    number: anAttemptNumber(1),
    nodeId: over.node ?? LOCAL_NODE_ID,
    state: over.state ?? 'ended',
    endedAtMs: over.state === undefined ? 5 : null
  } as unknown as Attempt
  const cache = ItemsCache.open(join(directory.path, 'cache'), { ...ITEMS_LIMITS, ...over.limits })
  const jobItems = new JobItems({
    store: {
      getJob: async (id: string) => (id === ID ? {} : null),
      listAttempts: async () => [attempt]
    } as unknown as JobItemsParts['store'],
    cache,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    localFileOf: () => local,
    async readRange(_attempt, { offset, limitBytes }) {
      remote.asked.push(offset)
      if (remote.failure !== null) throw remote.failure
      if (remote.bytes === null) return null
      return { offset, sizeBytes: remote.bytes.length, bytes: remote.bytes.subarray(offset, offset + limitBytes) }
    },
    archive: {
      sizeBytes: async () => (over.isKept === true ? remote.bytes!.length : null),
      whyGone: async () => over.whyGone ?? null
    },
    whyNoDuckdb: over.whyNoDuckdb ?? null
  })
  onTestFinished(async () => {
    await jobItems.stop()
    await directory[Symbol.asyncDispose]()
  })
  return { jobItems, local, remote, attempt, cache, directory: directory.path }
}

const exportOf = async (stream: AsyncIterable<ExportProgress>) => {
  let last: ExportProgress | null = null
  for await (const progress of stream) last = progress
  return last!.file!
}

it('the process that reads items pages, counts, compares and exports the file of a local run', async () => {
  const { jobItems, local } = await open()
  await writeFile(local, items(250))
  expect(await jobItems.describe({ jobId: ID }, true)).toMatchObject({
    from: 'local',
    items: 250,
    engine: 'duckdb',
    mayGrow: false
  })
  const sort = { field: 'at', descending: true }
  const page = await jobItems.page({ jobId: ID }, aPage({ sort, limit: 2 }))
  expect(page.rows.map(({ index }) => index)).toEqual([249, 248])
  expect(await jobItems.diff({ jobId: ID }, ID, 'at')).toMatchObject({ same: 250, changed: 0, before: { jobId: ID } })
  const file = await exportOf(jobItems.export({ jobId: ID }, { format: 'parquet', filter: [] }))
  expect(file).toMatchObject({ name: `items-${ID}.parquet`, items: 250 })
  const piece = await jobItems.readExport(file.id, 0)
  expect(Buffer.from(piece.base64, 'base64').toString('latin1')).toMatch(/^PAR1/)
  expect(piece.nextOffset).toBeNull()
})

it('a job without items says so, and one that has not ended says that there may be some', async () => {
  const { jobItems } = await open()
  await expect(jobItems.describe({ jobId: ID }, false)).rejects.toMatchObject({ code: 'ITEMS_NOT_FOUND' })
  const running = await open({ state: 'running' })
  await expect(running.jobItems.describe({ jobId: ID }, false)).rejects.toThrow('no items yet')
  await expect(jobItems.describe({ jobId: 'b'.repeat(32) as JobId }, false)).rejects.toMatchObject({
    code: 'JOB_NOT_FOUND'
  })
})

it.skipIf(isCore)(
  'only the part of a remote file that is read is copied; a file that grew is continued, and one that shrank is copied again',
  async () => {
    const now = vi.spyOn(systemClock, 'nowMs')
    const { jobItems, remote } = await open({ node: aNodeId('eu-1'), state: 'running' })
    remote.bytes = Buffer.from(jsonLines(Array.from({ length: 30_000 }, (_, at) => ({ at, text: 'x'.repeat(1_000) }))))
    const first = await jobItems.page({ jobId: ID }, aPage({ limit: 5 }))
    expect(first.rows).toHaveLength(5)
    expect(await jobItems.describe({ jobId: ID }, false)).toMatchObject({
      from: 'node',
      copiedBytes: 8 * 1024 ** 2,
      items: null
    })
    expect(await jobItems.describe({ jobId: ID }, true)).toMatchObject({
      items: 30_000,
      copiedBytes: remote.bytes.length
    })
    remote.bytes = Buffer.concat([remote.bytes, Buffer.from('{"at":"new"}\n{"at":')])
    now.mockReturnValue(Date.now() + 10_000)
    remote.asked = []
    const described = await Promise.all([1, 2, 3].map(() => jobItems.describe({ jobId: ID }, true)))
    for (const one of described) expect(one).toMatchObject({ items: 30_001, unreadable: 0, endsInside: true })
    expect(remote.asked.every((offset) => offset > 30_000_000)).toBe(true)
    remote.bytes = Buffer.from(items(3))
    now.mockReturnValue(Date.now() + 20_000)
    expect(await jobItems.describe({ jobId: ID }, true)).toMatchObject({ items: 3, copiedBytes: remote.bytes.length })
  }
)

it('a file larger than the limit, and a node that does not respond, are reported', async () => {
  const { jobItems, remote } = await open({ node: aNodeId('eu-1'), limits: { copyBytes: 1_000 } })
  remote.bytes = Buffer.from(items(500))
  await expect(jobItems.describe({ jobId: ID }, true)).rejects.toMatchObject({ code: 'ITEMS_TOO_LARGE' })
  const away = await open({ node: aNodeId('eu-1') })
  away.remote.failure = new ScrapdeckError('NODE_UNREACHABLE', 'eu-1 did not respond')
  await expect(away.jobItems.page({ jobId: ID }, aPage())).rejects.toMatchObject({ code: 'NODE_UNREACHABLE' })
})

it('the oldest copies are removed when they are too large, and made again when they are read', async () => {
  const { jobItems, remote, cache } = await open({ node: aNodeId('eu-1'), limits: { cacheBytes: 10 } })
  remote.bytes = Buffer.from(items(50))
  expect((await jobItems.page({ jobId: ID }, aPage())).rows).toHaveLength(50)
  expect(await readdir(cache.pathOf('.'))).toEqual([])
  expect((await jobItems.page({ jobId: ID }, aPage())).rows).toHaveLength(50)
})

it.skipIf(isCore)('an aborted request ends, and the process is ready for the next one', async () => {
  const { jobItems, local } = await open()
  await writeFile(local, items(200_000))
  const abort = new AbortController()
  const counting = jobItems.page({ jobId: ID }, aPage({ sort: { field: 'name', descending: true } }), abort.signal)
  abort.abort(new Error('the tab was closed'))
  await expect(counting).rejects.toThrow('the tab was closed')
  expect((await jobItems.page({ jobId: ID }, aPage({ limit: 1 }))).rows).toHaveLength(1)
})

it('in the desktop app a thread reads items, without DuckDB', async () => {
  const { jobItems, local } = await open({ whyNoDuckdb: 'the desktop' })
  await writeFile(local, items(3))
  expect(await jobItems.describe({ jobId: ID }, true)).toMatchObject({
    items: 3,
    engine: 'plain',
    engineProblem: 'the desktop'
  })
  await appendFile(local, 'garbage\n')
  expect((await jobItems.page({ jobId: ID }, aPage())).rows.at(-1)).toEqual({ index: 3, cells: null })
  const file = await exportOf(jobItems.export({ jobId: ID }, { format: 'csv', filter: [] }))
  expect(Buffer.from((await jobItems.readExport(file.id, 0)).base64, 'base64').toString()).toContain(
    'at,name\r\n0,item 0'
  )
  expect(existsSync(local)).toBe(true)
})

it('archived items are read from the archive, also of a run on the local node', async () => {
  const { jobItems, remote } = await open({ isKept: true })
  remote.bytes = Buffer.from(items(3))
  expect(await jobItems.describe({ jobId: ID }, true)).toMatchObject({ from: 'archive', items: 3 })
  expect((await jobItems.page({ jobId: ID }, aPage())).rows).toHaveLength(3)
})

it('missing items say what happened to them', async () => {
  const why = new ScrapdeckError('ITEMS_NOT_FOUND', 'Retention deleted the items of job x on 2026-11-02.')
  const { jobItems } = await open({ node: 'n1', whyGone: why })
  await expect(jobItems.describe({ jobId: ID }, false)).rejects.toBe(why)
})

it('items that retention deleted are not read from a node that still has them; others that were not archived are', async () => {
  const text = 'Retention deleted the items of job x on 2026-11-02.'
  const deleted = new ScrapdeckError('ITEMS_NOT_FOUND', text, { data: { deletedAtMs: 5, problem: null } })
  const one = await open({ node: 'n1', whyGone: deleted })
  one.remote.bytes = Buffer.from(items(3))
  await expect(one.jobItems.describe({ jobId: ID }, true)).rejects.toBe(deleted)
  const notKept = new ScrapdeckError('ITEMS_NOT_FOUND', 'Too large', {
    data: { deletedAtMs: null, problem: 'too large' }
  })
  const other = await open({ node: 'n1', whyGone: notKept })
  other.remote.bytes = Buffer.from(items(3))
  expect(await other.jobItems.describe({ jobId: ID }, true)).toMatchObject({ from: 'node', items: 3 })
})
