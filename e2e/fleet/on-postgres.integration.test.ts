import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type PostgresServer,
  startPostgres,
  whyNoPostgres
} from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { until } from '../../src/engine/testing/until.ts'
import { aProjectName, aVersionName } from '../../src/shared/testing/ids.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { type Service, startService } from '../support/service.ts'

let database: PostgresServer
let service: Service
beforeAll(async () => {
  if (whyNoPostgres() !== null) return
  database = await startPostgres()
  service = await startService({ arguments: [`--store=${database.url}`] })
})
afterAll(async () => {
  await service?.stop()
  await database?.stop()
})

test.skipIf(whyNoPostgres() !== null)(
  'a service on PostgreSQL deploys and runs a spider, and continues after a kill -9 and after an outage of the database',
  async () => {
    await uploadDemo(service, '1')
    const run = async () => {
      const { jobs } = await service.client.jobs.run({
        project: aProjectName('demo'),
        spiders: ['quotes'],
        version: aVersionName('1')
      } as never)
      return jobs[0]!.id
    }
    const ended = (id: Awaited<ReturnType<typeof run>>) =>
      until('the end of the run', async () => (await service.client.jobs.status({ id })).outcome, Boolean, 60_000)
    const first = await run()
    expect(await ended(first)).toBe('succeeded')
    await service.kill()
    await service.start()
    expect((await service.client.jobs.status({ id: first })).outcome).toBe('succeeded')
    await database.crash()
    const ready = async () => (await fetch(`${service.address}/health/ready`)).status
    await until('not ready', ready, (status) => status === 503, 30_000)
    await database.start()
    await until('ready again', ready, (status) => status === 200, 30_000)
    expect(await ended(await run())).toBe('succeeded')
  }
)
