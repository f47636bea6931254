import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type PostgresServer,
  startPostgres,
  whyNoPostgres
} from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { until } from '../../src/engine/testing/until.ts'
import { type Service, startService, TEST_CREDENTIALS } from '../support/service.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { isCore } from '../../scripts/test-length.mjs'

let database: PostgresServer
let engines: Service[] = []
const directories: string[] = []

async function startEngine(name: string): Promise<Service> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-engines-'))
  // All engines need the same encryption key.
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
  test('one leads, and the other one responds in the same way through it, under its own address', async () => {
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

  test('when the leader is killed, the other one leads within seconds, and its clients continue', async () => {
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

  test.skipIf(isCore)(
    'sessions that another engine ended stay ended when their own engine leads again',
    async () => {
      const [north, south] = engines as [Service, Service]
      const password = 'kestrel amber drawbridge'
      await south.client.users.create({ name: 'anna', role: 'viewer', password })
      const logIn = async ({ address }: Service, username: string, secret: string) => {
        const body = new URLSearchParams({ username, password: secret })
        const answer = await fetch(`${address}/ui/login`, { method: 'POST', redirect: 'manual', body })
        return answer.headers.getSetCookie()[0]!.split(';', 1)[0]!
      }
      const statusOf = async ({ address }: Service, cookie: string) =>
        (await fetch(`${address}/api/v1/users/me`, { headers: { cookie } })).status
      const handOverTo = async (name: string) => {
        await south.client.engines.handOver({})
        await until(
          `${name} leads`,
          () => leaderOf(south).catch(() => null),
          (leader) => leader === name,
          10_000
        )
      }
      const annas = await logIn(south, 'anna', password)
      const owners = await logIn(south, TEST_CREDENTIALS.username, TEST_CREDENTIALS.password)
      expect([await statusOf(south, annas), await statusOf(south, owners)]).toEqual([200, 200])

      await handOverTo('north')
      const cookie = await logIn(north, 'anna', password)
      const post = async (path: string, body: object) => {
        const headers = { cookie, 'content-type': 'application/json' }
        const request = { method: 'POST', headers, body: JSON.stringify(body) }
        return (await (await fetch(`${north.address}/api/v1/users/me/${path}`, request)).json()) as { secret?: string }
      }
      const { secret } = await post('authenticator', { current: password })
      await post('authenticator/confirm', { code: new TOTP({ secret: Secret.fromBase32(secret!) }).generate() })
      expect(await statusOf(north, cookie)).toBe(200)
      await handOverTo('south')
      expect([await statusOf(south, annas), await statusOf(south, owners)]).toEqual([401, 200])

      await handOverTo('north')
      await north.client.system.logOutEverywhere()
      await handOverTo('south')
      expect(await statusOf(south, owners)).toBe(401)
      expect(await statusOf(south, await logIn(south, TEST_CREDENTIALS.username, TEST_CREDENTIALS.password))).toBe(200)
    },
    60_000
  )

  test.skipIf(isCore)(
    'the leadership can be handed over, but never to a drained engine',
    async () => {
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
    },
    60_000
  )

  test('an engine with another key does not join', async () => {
    const strange = startService({ localSlots: 0, arguments: [`--store=${database.url}`] })
    await expect(strange).rejects.toThrow(/ENGINES_DIFFER|secret\.key/)
  }, 60_000)
})
