import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type PostgresServer,
  startPostgres,
  whyNoPostgres
} from '../../src/engine/store/postgres/testing/start-postgres.ts'
import { until } from '../../src/engine/testing/until.ts'
import { type Service, startService, TEST_CREDENTIALS } from '../support/service.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'

let database: PostgresServer
let engines: Service[] = []
const directories: string[] = []

async function startEngine(name: string): Promise<Service> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-engines-'))
  // What seals secrets must be the same everywhere.
  if (directories[0] !== undefined) cpSync(join(directories[0], 'secret.key'), join(directory, 'secret.key'))
  directories.push(directory)
  const service = await startService({
    dataDirectory: directory,
    localSlots: 0,
    arguments: [`--store=${database.url}`],
    environment: { SCRAPDECK_ENGINE_NAME: name }
  })
  engines.push(service)
  return service
}

beforeAll(async () => {
  if (whyNoPostgres() !== null) return
  database = await startPostgres()
})
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.stop()))
  await database?.stop()
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

const leaderOf = async (engine: Service) =>
  (await engine.client.engines.list()).engines.find(({ state }) => state === 'leading')?.name

describe.skipIf(whyNoPostgres() !== null)('two engines on one database', () => {
  test('one leads, and the other answers the same through it, under its own address', async () => {
    const north = await startEngine('north')
    const south = await startEngine('south')
    expect(await leaderOf(south)).toBe('north')
    await south.client.nodes.add({ name: 'far', url: 'http://127.0.0.1:9' } as never).catch(() => {})
    const headers = { authorization: basicAuthorization(TEST_CREDENTIALS) }
    for (const { address } of [north, south]) {
      const answer = await fetch(`${address}/daemonstatus.json`, { headers })
      expect(await answer.json()).toMatchObject({ status: 'ok', running: 0 })
      expect((await fetch(`${address}/daemonstatus.json`)).status).toBe(401)
      expect((await fetch(`${address}/health/ready`)).status).toBe(200)
    }
  }, 60_000)

  test('when the leader is killed, the other one leads within seconds and clients of it go on', async () => {
    const [north, south] = engines as [Service, Service]
    await north.kill()
    await until(
      'another leader',
      () => leaderOf(south).catch(() => null),
      (name) => name === 'south',
      10_000
    )
    await north.start()
    expect(await leaderOf(north)).toBe('south')
    const { terms } = await north.client.engines.list()
    expect(terms.map(({ engine, reason }) => [engine, reason])).toEqual([
      ['south', 'north is gone'],
      ['north', 'the first engine']
    ])
  }, 60_000)

  test('the leadership can be handed over, and a drained engine never gets it', async () => {
    const [north, south] = engines as [Service, Service]
    const list = await south.client.engines.list()
    const idOf = (name: string) => list.engines.findLast((engine) => engine.name === name)!.id
    await south.client.engines.handOver({})
    await until(
      'north leads',
      () => leaderOf(south).catch(() => null),
      (name) => name === 'north',
      10_000
    )
    await south.client.engines.drain({ id: idOf('south'), drained: true })
    await expect(north.client.engines.handOver({})).rejects.toMatchObject({ code: 'BAD_INPUT' })
    await north.client.engines.drain({ id: idOf('south'), drained: false })
    await north.client.engines.drain({ id: idOf('north'), drained: true })
    await until(
      'south leads',
      () => leaderOf(north).catch(() => null),
      (name) => name === 'south',
      10_000
    )
  }, 60_000)

  test('an engine with another key does not join', async () => {
    const strange = startService({ localSlots: 0, arguments: [`--store=${database.url}`] })
    await expect(strange).rejects.toThrow(/ENGINES_DIFFER|secret\.key/)
  }, 60_000)
})
