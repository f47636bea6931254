import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type PostgresServer,
  startPostgres,
  whyNoPostgres
} from '../../src/engine/store/postgres/testing/start-postgres.ts'
import { until } from '../../src/engine/testing/until.ts'
import { LOCAL_NODE_ID } from '../../src/shared/ids.ts'
import { aProjectName, aVersionName } from '../../src/shared/testing/ids.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { type Service, startService } from '../support/service.ts'

let database: PostgresServer
const directories: string[] = []
const engines: Service[] = []

async function startEngine(name: string, localSlots: number): Promise<Service> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'scrapdeck-engines-'))
  if (directories[0] !== undefined) cpSync(join(directories[0], 'secret.key'), join(dataDirectory, 'secret.key'))
  directories.push(dataDirectory)
  const environment = { SCRAPDECK_ENGINE_NAME: name }
  const service = await startService({ dataDirectory, localSlots, arguments: [`--store=${database.url}`], environment })
  engines.push(service)
  return service
}

beforeAll(async () => {
  if (whyNoPostgres() === null) database = await startPostgres()
})
afterAll(async () => {
  for (const engine of engines) await engine.stop()
  await database?.stop()
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

test.skipIf(whyNoPostgres() !== null)(
  'a run on the local node of an engine that is killed is neither lost nor repeated: it waits until its engine leads again',
  async () => {
    const north = await startEngine('north', 1)
    await uploadDemo(north, '1')
    const { jobs } = await north.client.jobs.run({
      ...{ project: aProjectName('demo'), spiders: ['quotes'], version: aVersionName('1') },
      args: { pages: '20', delay: '0.5' }
    } as never)
    const { id } = jobs[0]!
    const statusOf = async (engine: Service) => (await engine.client.jobs.status({ id })).state
    await until(
      'it runs',
      () => statusOf(north),
      (state) => state === 'running',
      30_000
    )
    const south = await startEngine('south', 0)
    await north.kill()
    const listed = () => south.client.engines.list().catch(() => null)
    const led = (name: string) => until(`${name} leads`, listed, (list) => leaderIn(list) === name, 20_000)
    await led('south')
    const local = async () => (await south.client.nodes.list()).nodes.find(({ id: node }) => node === LOCAL_NODE_ID)
    await until('the node does not respond', local, (node) => node?.health === 'down', 30_000)
    expect(await statusOf(south)).toBe('running')
    await north.start()
    await south.client.engines.handOver({})
    await led('north')
    const job = await until(
      'it ends',
      () => north.client.jobs.status({ id }).catch(() => null),
      (status) => status?.state === 'ended',
      60_000
    )
    expect(job).toMatchObject({ outcome: 'succeeded', attemptCount: 1 })
  },
  180_000
)

const leaderIn = (list: { engines: { state: string; name: string }[] } | null) =>
  list?.engines.find(({ state }) => state === 'leading')?.name
