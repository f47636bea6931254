import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type PostgresServer,
  startPostgres,
  whyNoPostgres
} from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { until } from '../../src/engine/testing/until.ts'
import type { JobId } from '../../src/shared/contract/index.ts'
import { aProjectName, aVersionName } from '../../src/shared/testing/ids.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { type Service, SERVICE_ENTRY, startService } from '../support/service.ts'

let database: PostgresServer
const directories: string[] = []
const engines: Service[] = []

async function startEngine(name: string): Promise<Service> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'scrapdeck-engines-'))
  if (directories[0] !== undefined) cpSync(join(directories[0], 'secret.key'), join(dataDirectory, 'secret.key'))
  directories.push(dataDirectory)
  const environment = { SCRAPDECK_ENGINE_NAME: name }
  const options = { dataDirectory, localSlots: 1, arguments: [`--store=${database.url}`], environment }
  const service = await startService(options)
  engines.push(service)
  return service
}

const nodesOf = async (engine: Service) => (await engine.client.nodes.list()).nodes
const areUp = (engine: Service, names: string[]) =>
  until(
    `${names.join(' and ')} are up`,
    () => nodesOf(engine).catch(() => []),
    (nodes) => names.every((name) => nodes.some((node) => node.name === name && node.health === 'up')),
    30_000
  )

beforeAll(async () => {
  if (whyNoPostgres() === null) database = await startPostgres()
})
afterAll(async () => {
  for (const engine of engines) await engine.stop()
  await database?.stop()
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

test.skipIf(whyNoPostgres() !== null)(
  'local nodes of two engines are named after them; a run on one continues while its engine is killed, and is neither lost nor repeated',
  async () => {
    const north = await startEngine('north')
    const south = await startEngine('south')
    await areUp(north, ['north', 'south'])
    expect((await nodesOf(north)).map(({ name, kind, slots }) => ({ name, kind, slots }))).toEqual([
      { name: 'north', kind: 'engine', slots: 1 },
      { name: 'south', kind: 'engine', slots: 1 }
    ])
    await uploadDemo(south, '1')
    const order = { project: aProjectName('demo'), spiders: ['quotes'], version: aVersionName('1') }
    const args = { pages: '20', delay: '0.5' }
    const run = async () => (await south.client.jobs.run({ ...order, args } as never)).jobs[0]!.id
    const ids = [await run(), await run()]
    const statusOf = (engine: Service, id: JobId) => engine.client.jobs.status({ id })
    for (const id of ids) {
      await until(
        'it runs',
        () => statusOf(north, id),
        ({ state }) => state === 'running',
        30_000
      )
    }
    const placed = (await north.client.jobs.list({ limit: 10 })).jobs
    const nodes = new Map((await nodesOf(north)).map(({ id, name }) => [id, name]))
    expect(placed.map(({ nodeId }) => nodes.get(nodeId!)).sort()).toEqual(['north', 'south'])

    await north.kill()
    const away = async () => (await nodesOf(south).catch(() => [])).find(({ name }) => name === 'north')
    await until('its node does not respond', away, (node) => node?.health === 'down', 40_000)
    await north.start()
    await areUp(south, ['north', 'south'])
    for (const id of ids) {
      const job = await until(
        'it ends',
        () => statusOf(south, id).catch(() => null),
        (status) => status?.state === 'ended',
        60_000
      )
      expect(job).toMatchObject({ outcome: 'succeeded', attemptCount: 1 })
      const log = await north.client.logs.read({ jobId: id, offset: -500, limitBytes: 500 } as never)
      expect(log.text).toContain('Spider closed (finished)')
    }
    const [node] = (await nodesOf(south)).filter(({ name }) => name === 'north')
    await expect(south.client.nodes.remove({ id: node!.id, force: true } as never)).rejects.toMatchObject({
      code: 'NODE_IS_LOCAL'
    })
  },
  180_000
)

test.skipIf(whyNoPostgres() !== null)(
  'after a move from SQLite, the runs of this computer can still be read, and new jobs go to the node of the engine',
  async () => {
    const moved = await startPostgres()
    const dataDirectory = mkdtempSync(join(tmpdir(), 'scrapdeck-moved-'))
    const order = { project: aProjectName('demo'), spiders: ['quotes'], version: aVersionName('1') }
    const run = async (engine: Service) => {
      const { id } = (await engine.client.jobs.run({ ...order, args: { pages: '1' } } as never)).jobs[0]!
      const status = () => engine.client.jobs.status({ id }).catch(() => null)
      await until('it ends', status, (job) => job?.state === 'ended', 60_000)
      return id
    }
    const read = async (engine: Service, jobId: JobId) =>
      (await engine.client.logs.read({ jobId, offset: -500, limitBytes: 500 } as never)).text
    try {
      const alone = await startService({ dataDirectory, localSlots: 1 })
      await uploadDemo(alone, '1')
      const before = await run(alone)
      expect(await read(alone, before)).toContain('Spider closed (finished)')
      await alone.stop()
      await promisify(execFile)(process.execPath, [SERVICE_ENTRY, 'copy-store', dataDirectory, moved.url])
      const environment = { SCRAPDECK_ENGINE_NAME: 'north' }
      const engine = await startService({
        dataDirectory,
        localSlots: 1,
        arguments: [`--store=${moved.url}`],
        environment
      })
      engines.push(engine)
      await areUp(engine, ['north', 'Local node'])
      expect(await read(engine, before)).toContain('Spider closed (finished)')
      const after = await run(engine)
      const { jobs } = await engine.client.jobs.list({ limit: 10 })
      const names = new Map((await nodesOf(engine)).map(({ id, name }) => [id, name]))
      expect(jobs.map(({ id, nodeId }) => [id, names.get(nodeId!)])).toEqual([
        [after, 'north'],
        [before, 'Local node']
      ])
      await engine.stop()
    } finally {
      await moved.stop()
      rmSync(dataDirectory, { recursive: true, force: true })
    }
  },
  180_000
)
