import { chmodSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { ChangeBatch, JobDetail, NodeRun } from '../shared/contract/index.ts'
import { CAN_FORK } from './nodes/local/warm/warm-pool.ts'
import { openDataDirectory } from './runtime/private-directory.ts'
import { type EngineWithPython, startEngineWithPython } from './testing/engine-with-python.ts'
import { aSpiderEgg } from './testing/spider-egg.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from './testing/temporary-directory.ts'
import { isCore } from '../../scripts/test-length.mjs'

const WAIT = { timeout: 60_000, interval: 50 }
/** Python's state when the parent process is ready. Spiders that start earlier import Scrapy themselves. */
const READY = { state: 'ready', start: { mode: CAN_FORK ? 'warm' : 'cold' } }
const SPIDERS = `
import asyncio, signal
import scrapy

class Waits(scrapy.Spider):
    name = "waits"
    async def start(self):
        while True:
            await asyncio.sleep(0.1)
        yield

class Stubborn(Waits):
    name = "stubborn"
    async def start(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.logger.info("deaf")
        while True:
            await asyncio.sleep(0.1)
        yield
`

let directory: TemporaryDirectory
let own: EngineWithPython
let client: EngineWithPython['client']

async function start(): Promise<void> {
  own = await startEngineWithPython(join(directory.path, 'data'), { localSlots: 4, cancelWaitsSeconds: [1, 1, 1] })
  client = own.client
}

beforeAll(async () => {
  directory = await makeTemporaryDirectory()
  await start()
  await vi.waitFor(async () => expect((await client.system.status()).python).toMatchObject(READY), WAIT)
  await client.projects.upload({ file: await aSpiderEgg(SPIDERS), project: 'shop', version: '1' })
})

afterAll(async () => {
  await own.stop()
  await directory.remove()
})

async function run(spider: string, over: object = {}): Promise<string> {
  return (await client.jobs.run({ project: 'shop', spiders: [spider], ...over })).jobs[0]!.id
}

function untilEnded(id: string): Promise<JobDetail> {
  return vi.waitFor(async () => {
    const detail = await client.jobs.get({ id })
    expect(detail.job.state).toBe('ended')
    return detail
  }, WAIT)
}

test('a project’s limit, or the job’s own in its place, ends the job and is the reason; its usage is kept', async () => {
  const python = { kind: 'default' as const }
  await client.projects.configure({ project: 'shop', settings: { python, limits: { wallSeconds: 3 } } })
  const stream = await client.events.subscribe({})
  const batches: ChangeBatch[] = []
  void (async () => {
    for await (const batch of stream) batches.push(batch)
  })().catch(() => {})
  const limited = await run('waits')
  const longer = await run('waits', { limits: { wallSeconds: 600 } })
  const { job, attempts } = await untilEnded(limited)
  expect(job).toMatchObject({ status: 'failed', reason: 'wall time limit of 3 s', limits: null })
  expect(attempts).toMatchObject([{ limitHit: expect.stringMatching(/^wall time limit of 3 s \(ran \d+ s\)$/) }])
  expect(attempts[0]!.peakMemoryBytes).toBeGreaterThan(10_000_000)
  expect(attempts[0]!.cpuSeconds).toBeGreaterThan(0)
  const { samples } = await client.jobs.usage({ id: limited })
  expect(samples.length).toBeGreaterThan(0)
  expect(samples[0]!.processes).toBe(1)

  expect((await client.jobs.get({ id: longer })).job.state).toBe('running')
  const local = await client.nodes.get({ id: 'local' })
  expect(local.runs.map(({ jobId, usage }) => [jobId, usage !== null])).toEqual([[longer, true]])
  const told = batches.flatMap(({ changes }) =>
    changes.flatMap((change): NodeRun[] => (change.kind === 'node' ? change.node.runs : []))
  )
  expect(told.some(({ jobId, usage }) => jobId === limited && usage !== null)).toBe(true)
  await client.jobs.cancel({ ids: [longer], force: true })
  await client.projects.configure({ project: 'shop', settings: { python, limits: null } })
})

test.skipIf(isCore)(
  'a limit applies to a run that outlives its engine, and the next engine reports runs that ended meanwhile',
  async () => {
    const id = await run('waits', { limits: { wallSeconds: 4 } })
    await vi.waitFor(async () => expect((await client.jobs.get({ id })).job.state).toBe('running'), WAIT)
    await own.engine.stop()
    await start()
    expect((await untilEnded(id)).job).toMatchObject({ status: 'failed', reason: 'wall time limit of 4 s' })
  }
)

test.skipIf(process.platform === 'win32')('a cancel escalates to KILL with the configured waits', async () => {
  const id = await run('stubborn')
  const log = async () => (await client.logs.read({ jobId: id, offset: 0 }).catch(() => ({ text: '' }))).text
  await vi.waitFor(async () => expect(await log()).toContain('deaf'), WAIT)
  await client.jobs.cancel({ ids: [id] })
  const { job, timeline } = await untilEnded(id)
  expect(job).toMatchObject({ status: 'cancelled', reason: 'killed by SIGKILL' })
  const sent = timeline.filter(({ kind }) => kind === 'cancel_sent')
  expect(sent.map(({ evidence }) => evidence.signal).slice(0, 3)).toEqual(['INT', 'INT', 'KILL'])
  expect(sent[1]!.atMs - sent[0]!.atMs).toBeLessThan(20_000)
})

test.skipIf(process.platform === 'win32')(
  'the service refuses a data directory to which others can write',
  async () => {
    await untilEnded(await run('waits', { limits: { wallSeconds: 1 } }))
    const data = join(directory.path, 'data')
    const local = join(data, 'local')
    const folders = [data, local].flatMap((path) =>
      readdirSync(path, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [join(path, one.name)] : []))
    )
    const ofLocalNode = ['egg-files', 'eggs', 'items', 'logs', 'runs', 'work']
    expect(folders).toEqual(expect.arrayContaining(ofLocalNode.map((name) => join(local, name))))
    for (const folder of folders) {
      for (const path of [data, local]) chmodSync(path, 0o755)
      chmodSync(folder, 0o777)
      expect(() => openDataDirectory(data)).toThrow(`${folder} can be written by every user`)
      chmodSync(folder, 0o700)
    }
  }
)
