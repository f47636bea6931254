import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type PostgresServer,
  startPostgres,
  whyNoPostgres
} from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { aSpiderEgg } from '../../src/engine/testing/spider-egg.ts'
import { until } from '../../src/engine/testing/until.ts'
import { aProjectName, aVersionName } from '../../src/shared/testing/ids.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { leaderAmong } from '../support/engines.ts'
import { type Scrapyd, startScrapyd } from '../support/scrapyd-fleet.ts'
import { type Service, SERVICE_ENTRY, startService, TEST_CREDENTIALS } from '../support/service.ts'
import { TALKS } from '../support/talking-spider.ts'

const headers = { authorization: basicAuthorization(TEST_CREDENTIALS) }

describe.skipIf(whyNoPostgres() !== null)('engines with their blobs in a shared directory', () => {
  const root = mkdtempSync(join(tmpdir(), 'scrapdeck-shared-blobs-'))
  /** Each engine has the share at a different path, like machines that mount it in different places. */
  const mounts = { north: join(root, 'mnt', 'share'), south: join(root, 'south-share') }
  let database: PostgresServer
  let scrapyd: Scrapyd
  let north: Service
  let south: Service
  const engines: Service[] = []

  async function startEngine(name: string, blobs: string | null): Promise<Service> {
    const dataDirectory = join(root, name)
    mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
    if (name !== 'north') cpSync(join(root, 'north', 'secret.key'), join(dataDirectory, 'secret.key'))
    const option = blobs === null ? [] : [`--blobs=${blobs}`]
    const environment = { SCRAPDECK_ENGINE_NAME: name }
    const given = { dataDirectory, localSlots: 0, arguments: [`--store=${database.url}`, ...option], environment }
    const service = await startService(given)
    engines.push(service)
    return service
  }

  beforeAll(async () => {
    ;[database, scrapyd] = await Promise.all([startPostgres(), startScrapyd()])
    mkdirSync(join(root, 'mnt'))
    symlinkSync(mounts.north, mounts.south)
    north = await startEngine('north', mounts.north)
    south = await startEngine('south', mounts.south)
  }, 120_000)
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.kill()))
    await Promise.all([database?.stop(), scrapyd?.stop()])
    rmSync(root, { recursive: true, force: true })
  })

  const problemsOf = async () => (await south.client.system.status()).problems
  const trees = () => readdirSync(mounts.north).toSorted()

  test('the next leader has the eggs and logs of the previous one, wherever its share is mounted', async () => {
    const { client } = north
    await client.nodes.add({ url: scrapyd.url, name: 'remote', slots: 2 })
    await client.projects.upload({ file: await aSpiderEgg(TALKS), project: 'shop', version: '1' })
    const { jobs } = await client.jobs.run({
      project: aProjectName('shop'),
      spiders: ['talks'],
      version: aVersionName('1')
    } as never)
    const { id } = jobs[0]!
    const ask = () => client.jobs.status({ id })
    const job = await until('the end of the run', ask, ({ outcome }) => outcome !== null, 60_000)
    expect(job.outcome).toBe('succeeded')
    expect(trees()).toEqual(['eggs', 'logs', 'owner'])
    expect(existsSync(join(root, 'north', 'blobs'))).toBe(false)
    await scrapyd.kill()
    await north.kill()
    await leaderAmong(['south'], south)
    const log = await fetch(`${south.address}/logs/shop/talks/${id}.log`, { headers })
    expect(await log.text()).toContain('line 3999 of the talk')
    await south.client.projects.upload({ file: await aSpiderEgg(`${TALKS}\n#\n`), project: 'shop', version: '2' })
    expect(readdirSync(join(mounts.north, 'eggs')).length).toBe(2)
  }, 120_000)

  test('an engine that keeps its blobs elsewhere does not start while others run', async () => {
    for (const blobs of [join(root, 'another'), null])
      await expect(startEngine('east', blobs)).rejects.toThrow(
        /need the same blobs: south keeps eggs and logs in .*south-share, this engine in .*another|the data directory/
      )
    const { engines: listed } = await south.client.engines.list()
    expect(listed.some(({ name }) => name === 'east')).toBe(false)
  }, 60_000)

  test('an unmounted share is a problem that every user sees; nothing is written in its place, and the problem ends by itself', async () => {
    expect((await problemsOf()).filter(({ id }) => id.startsWith('blobs'))).toEqual([])
    const away = join(root, 'away')
    renameSync(mounts.north, away)
    mkdirSync(mounts.north)
    const file = await aSpiderEgg(`${TALKS}\n# 3\n`)
    await expect(south.client.projects.upload({ file, project: 'shop', version: '3' })).rejects.toMatchObject({
      code: 'BLOBS_UNUSABLE'
    })
    const isTold = (found: { id: string }[]) => found.some(({ id }) => id === 'blobs')
    const told = (await until('the problem', problemsOf, isTold, 20_000)).find(({ id }) => id === 'blobs')!
    expect([told.title, told.severity]).toEqual(['The storage of eggs and logs cannot be used', 'error'])
    expect(told.text).toContain(`${mounts.south} cannot be used: it is no longer there`)
    const ready = await fetch(`${south.address}/health/ready`)
    expect([ready.status, await ready.json()]).toEqual([
      200,
      expect.objectContaining({ reasons: ['The blob storage (shared directory) is not mounted'] })
    ])
    expect(await (await fetch(`${south.address}/metrics`, { headers })).text()).toMatch(/^scrapdeck_blobs_up 0$/m)
    expect(trees()).toEqual([])
    await south.kill()
    await expect(south.start()).rejects.toThrow(/not the directory that was there before/)
    rmSync(mounts.north, { recursive: true })
    renameSync(away, mounts.north)
    await south.start()
    await south.client.projects.upload({ file, project: 'shop', version: '3' })
    expect(await problemsOf().then((found) => found.filter(({ id }) => id.startsWith('blobs')))).toEqual([])
  }, 120_000)

  test('blobs can be copied to a data directory, to another share and back while the service is stopped', async () => {
    const environment = { ...process.env, SCRAPDECK_BLOBS: mounts.south }
    const copy = async (from: string, to: string) => {
      const place = [`--data=${south.dataDirectory}`, '--json']
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [SERVICE_ENTRY, 'copy-blobs', from, to, ...place],
        { env: environment }
      )
      return JSON.parse(stdout) as { copied: number; same: number; total: number }
    }
    const data = join(root, 'copied')
    const share = pathToFileURL(join(root, 'other share')).href
    await expect(copy(mounts.south, data)).rejects.toMatchObject({ stderr: expect.stringContaining('Stop it first') })
    await south.kill()
    expect(await copy(mounts.south, data)).toMatchObject({ copied: 4, same: 0, total: 4 })
    expect(readdirSync(join(data, 'blobs')).toSorted()).toEqual(['eggs', 'logs'])
    expect(await copy(data, share)).toMatchObject({ copied: 4, same: 0 })
    rmSync(join(root, 'other share', 'eggs', readdirSync(join(root, 'other share', 'eggs'))[0]!))
    expect(await copy(mounts.south, share)).toMatchObject({ copied: 1, same: 3 })
    expect(await copy(join(root, 'other share'), mounts.south)).toMatchObject({ copied: 0, same: 4 })
    const moved = await startEngine('north', join(root, 'other share'))
    // The lease of the killed engine can still be valid.
    const projects = () => moved.client.projects.list({}).then((listed) => listed.projects.length, String)
    await expect.poll(projects, { timeout: 30_000 }).toBe(1)
    await moved.kill()
  }, 120_000)
})
