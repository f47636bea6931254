import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { aProjectName } from '../../../shared/testing/ids.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import type { JobLogs } from '../../runs/logs/job-logs.ts'
import type { Store } from '../../storage/store.ts'
import { ScrapydFiles } from './scrapyd-files.ts'

const NO_JOBS = {
  listJobs: async () => [],
  listSpidersElsewhere: async () => [],
  findJobsByJobid: async () => [],
  getJob: async () => null
}

let base: string
let files: ScrapydFiles

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'scrapdeck-files-'))
  await mkdir(join(base, 'logs', 'shop', 'quotes'), { recursive: true })
  await writeFile(join(base, 'secret'), 'secret')
  await writeFile(join(base, 'logs-beside'), 'secret')
  await writeFile(join(base, 'logs', 'shop', 'quotes', 'a b.log'), '0123456789')
  files = new ScrapydFiles({
    store: NO_JOBS as unknown as Store,
    fleet: { list: () => [] } as unknown as Fleet,
    jobLogs: {} as JobLogs,
    itemsArchive: { sizeBytes: async () => null, read: async () => null, whyGone: async () => null },
    directories: { logs: join(base, 'logs'), items: null }
  })
})
afterEach(() => rm(base, { recursive: true, force: true }))

const logs = (...segments: string[]) => files.open('logs', segments)

describe('the files of this machine', () => {
  it('are read in ranges, with their size and time', async () => {
    const path = join(base, 'logs', 'shop', 'quotes', 'a b.log')
    await utimes(path, 1, 1_700_000_000)
    const file = await logs('shop', 'quotes', 'a b.log')
    if (file?.kind !== 'file') throw new Error('no file')
    expect(file).toMatchObject({ sizeBytes: 10, modifiedAtMs: 1_700_000_000_000 })
    expect(await text(file.read(2, 5))).toBe('234')
    expect(await files.hasLocal('logs', { project: aProjectName('shop'), spider: 'quotes', jobid: 'a b' })).toBe(true)
    expect(await files.hasLocal('logs', { project: aProjectName('shop'), spider: 'quotes', jobid: 'c' })).toBe(false)
    expect(await files.hasLocal('items', { project: aProjectName('shop'), spider: 'quotes', jobid: 'a b' })).toBe(false)
  })

  it('are listed by name, whichever program wrote them', async () => {
    await writeFile(join(base, 'logs', 'stats.json'), '{}')
    expect(await logs()).toMatchObject({
      kind: 'directory',
      entries: [
        { name: 'shop', isDirectory: true, sizeBytes: null },
        { name: 'stats.json', isDirectory: false, sizeBytes: 2 }
      ]
    })
  })

  it.each([
    ['nothing', ['none']],
    ['a file is no directory', ['shop', 'quotes', 'a b.log', 'x']],
    ['a NUL', ['shop\0']],
    ['a name too long', ['x'.repeat(300)]],
    ['the directory above', ['..', 'secret']],
    ['a name that begins as the directory does', ['..', 'logs-beside']]
  ])('%s is not found', async (_what, segments) => {
    expect(await logs(...segments)).toBeNull()
  })

  it('that are links out of the tree are neither followed nor listed; links inside are', async () => {
    await symlink(join(base, 'secret'), join(base, 'logs', 'out.log'))
    await symlink(base, join(base, 'logs', 'up'))
    await symlink('nowhere', join(base, 'logs', 'broken.log'))
    await symlink(join('shop', 'quotes', 'a b.log'), join(base, 'logs', 'newest.log'))
    expect(await logs('out.log')).toBeNull()
    expect(await logs('up', 'secret')).toBeNull()
    expect(await logs('newest.log')).toMatchObject({ kind: 'file', sizeBytes: 10 })
    const root = await logs()
    if (root?.kind !== 'directory') throw new Error('no directory')
    expect(root.entries.map(({ name }) => name)).toEqual(['newest.log', 'shop'])
  })

  it.skipIf(process.platform === 'win32')('that are pipes are neither read nor listed', async () => {
    execFileSync('mkfifo', [join(base, 'logs', 'pipe.log')])
    expect(await logs('pipe.log')).toBeNull()
    expect(await logs()).toMatchObject({ entries: [{ name: 'shop' }] })
  })

  it.each([
    ['a link out of the tree', (path: string) => symlink(join(base, 'secret'), path)],
    ['another file', (path: string) => writeFile(path, 'xxxxxxxxxx')]
  ])('%s that replaces a file after it was found is not read', async (_what, put) => {
    const path = join(base, 'logs', 'shop', 'quotes', 'a b.log')
    const file = await logs('shop', 'quotes', 'a b.log')
    if (file?.kind !== 'file') throw new Error('no file')
    // The next file must not reuse the inode.
    await rename(path, join(base, 'kept'))
    await put(path)
    await expect(text(file.read(0, 6))).rejects.toThrow('replaced')
  })

  it('a tree without a directory has nothing', async () => {
    expect(await files.open('items', [])).toBeNull()
  })
})

it('a tree whose directory does not exist yet is an empty folder, as in Scrapyd', async () => {
  await rm(join(base, 'logs'), { recursive: true })
  expect(await logs()).toEqual({ kind: 'directory', entries: [] })
  expect(await logs('shop')).toBeNull()
})

describe('the items of runs on other nodes', () => {
  /** `kept`: the jobids whose items the nodes still have. */
  function openFleet(
    jobs: { jobid: string; nodeId: string }[],
    kept: Set<string>,
    archived = new Set<string>(),
    deleted = new Set<string>()
  ) {
    const asked: string[] = []
    const clientOf = (nodeId: string) => ({
      readItems: async ({ jobid }: { jobid: string }) => {
        asked.push(jobid)
        if (nodeId === 'down') throw new Error('does not respond')
        return kept.has(jobid) ? { offset: 0, sizeBytes: 7, bytes: new Uint8Array(1) } : null
      }
    })
    const stored = jobs.map(({ jobid, nodeId }) => ({
      id: `id-${jobid}`,
      jobid,
      nodeId,
      project: 'shop',
      spider: 'quotes',
      attemptCount: 1,
      state: 'ended',
      endedAtMs: 5
    }))
    files = new ScrapydFiles({
      store: {
        listJobs: async () => stored,
        listSpidersElsewhere: async () => stored.map(({ project, spider }) => ({ project, spider })),
        findJobsByJobid: async (_project: string, jobid: string) => stored.filter((job) => job.jobid === jobid),
        listAttempts: async (id: string) => stored.filter((job) => job.id === id)
      } as unknown as Store,
      fleet: {
        list: () => [{ stored: { kind: 'scrapyd' } }],
        get: (id: string) => ({ client: clientOf(id) })
      } as unknown as Fleet,
      jobLogs: {} as JobLogs,
      itemsArchive: {
        sizeBytes: async ({ jobid }: { jobid: string }) => (archived.has(jobid) ? 10 : null),
        async read({ jobid }: { jobid: string }, { offset, limitBytes }: { offset: number; limitBytes: number }) {
          if (!archived.has(jobid)) return null
          return { offset, sizeBytes: 10, bytes: Buffer.from('0123456789').subarray(offset, offset + limitBytes) }
        },
        whyGone: async ({ jobid }: { jobid: string }) =>
          deleted.has(jobid) ? new ScrapdeckError('ITEMS_NOT_FOUND', 'deleted', { data: { deletedAtMs: 5 } }) : null
      } as never,
      directories: { logs: join(base, 'logs'), items: join(base, 'items') }
    })
    return { asked }
  }
  const items = async (...segments: string[]) => {
    const found = await files.open('items', segments)
    return found?.kind === 'directory' ? found.entries.map(({ name, sizeBytes }) => [name, sizeBytes]) : found
  }

  it('are listed with their sizes if the nodes have them', async () => {
    openFleet(
      [
        { jobid: 'c', nodeId: 'eu-1' },
        { jobid: 'x', nodeId: 'down' },
        { jobid: 'b', nodeId: 'eu-2' },
        { jobid: 'a', nodeId: 'eu-1' }
      ],
      new Set(['a', 'c', 'x'])
    )
    expect(await items()).toEqual([['shop', null]])
    expect(await items('shop')).toEqual([['quotes', null]])
    expect(await items('shop', 'quotes')).toEqual([
      ['a.jl', 7],
      ['c.jl', 7]
    ])
    expect(await items('shop', 'other', 'deeper')).toBeNull()
  })

  it('that retention deleted are gone, even if a node still has them', async () => {
    const jobs = ['b', 'a'].map((jobid) => ({ jobid, nodeId: 'eu-1' }))
    openFleet(jobs, new Set(['a', 'b']), new Set(), new Set(['b']))
    expect(await items('shop', 'quotes')).toEqual([['a.jl', 7]])
    expect(await items('shop', 'quotes', 'b.jl')).toBeNull()
  })

  it('are in the folders of the spiders that ran, even if their project was deleted later', async () => {
    openFleet([{ jobid: 'a', nodeId: 'eu-1' }], new Set(['a']))
    expect(await items()).toEqual([['shop', null]])
    expect(await items('shop')).toEqual([['quotes', null]])
    expect(await items('deployed-and-never-run')).toBeNull()
  })

  it('that are stored here are listed and read without their node, including those of the local node', async () => {
    const jobs = [
      { jobid: 'a', nodeId: 'down' },
      { jobid: 'b', nodeId: LOCAL_NODE_ID }
    ]
    const { asked } = openFleet(jobs, new Set(), new Set(['a', 'b']))
    expect(await items('shop', 'quotes')).toEqual([
      ['a.jl', 10],
      ['b.jl', 10]
    ])
    const file = await files.open('items', ['shop', 'quotes', 'b.jl'])
    if (file?.kind !== 'file') throw new Error('no file')
    expect(await text(file.read(2, 5))).toBe('234')
    expect(asked).toEqual([])
  })

  it('need few requests: if a node has deleted three in a row, it is not asked for older ones', async () => {
    const jobs = Array.from({ length: 500 }, (_, index) => ({ jobid: String(index), nodeId: 'eu-1' }))
    const { asked } = openFleet(jobs, new Set(['0', '2']))
    expect(await items('shop', 'quotes')).toHaveLength(2)
    expect(asked).toEqual(['0', '1', '2', '3', '4', '5'])
  })
})
