import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  S3_BUCKET,
  S3_KEYS,
  type S3Server,
  startS3,
  whyNoS3
} from '../../src/engine/storage/blobs/s3/testing/start-s3.ts'
import { aSpiderEgg } from '../../src/engine/testing/spider-egg.ts'
import { until } from '../../src/engine/testing/until.ts'
import { aProjectName, aVersionName } from '../../src/shared/testing/ids.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { type Scrapyd, startScrapyd } from '../support/scrapyd-fleet.ts'
import { type Service, SERVICE_ENTRY, startService, TEST_CREDENTIALS } from '../support/service.ts'
import { TALKS } from '../support/talking-spider.ts'

const LOG_FOLDER = '/logs/shop/talks'
const headers = { authorization: basicAuthorization(TEST_CREDENTIALS) }

describe.skipIf(whyNoS3() !== null)('a service with its blobs on S3', () => {
  let s3: S3Server
  let scrapyd: Scrapyd
  let service: Service
  const copies = mkdtempSync(join(tmpdir(), 'scrapdeck-copied-blobs-'))
  const address = () => `s3://${S3_BUCKET}/deck?endpoint=${s3.endpoint}`
  beforeAll(async () => {
    ;[s3, scrapyd] = await Promise.all([startS3(), startScrapyd({ configuration: { items_dir: 'items' } })])
    service = await startService({ localSlots: 0, arguments: [`--blobs=${address()}`], environment: S3_KEYS })
    await service.client.nodes.add({ url: scrapyd.url, name: 'remote', slots: 2 })
  }, 120_000)
  afterAll(async () => {
    await service?.stop()
    await Promise.all([scrapyd?.stop(), s3?.stop()])
    rmSync(copies, { recursive: true, force: true })
  })

  const objects = () =>
    readdirSync(s3.directory, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /^deck\/(eggs|logs|items)\/./.test(path)
    )
  const ask = (path: string, more: Record<string, string> = {}) =>
    fetch(service.address + path, { headers: { ...headers, ...more } })
  const copy = (from: string, to: string) => {
    const place = [`--data=${service.dataDirectory}`, '--json']
    const environment = { ...process.env, ...S3_KEYS, SCRAPDECK_BLOBS: address() }
    return promisify(execFile)(process.execPath, [SERVICE_ENTRY, 'copy-blobs', from, to, ...place], {
      env: environment
    })
  }

  test('runs an egg from S3, archives logs and items there, and reads ranges of them with an empty cache', async () => {
    const { client } = service
    await client.projects.upload({ file: await aSpiderEgg(TALKS), project: 'shop', version: '1' })
    await client.projects.changeSettings({ project: aProjectName('shop'), settings: { keepItems: true } })
    const { jobs } = await client.jobs.run({
      project: aProjectName('shop'),
      spiders: ['talks'],
      version: aVersionName('1')
    } as never)
    const { id } = jobs[0]!
    const job = await until(
      'the end of the run',
      () => client.jobs.status({ id }),
      ({ outcome }) => outcome !== null,
      60_000
    )
    expect(job.outcome).toBe('succeeded')
    expect(
      objects()
        .map((path) => path.split('/')[1])
        .toSorted()
    ).toEqual(['eggs', 'items', 'logs'])
    expect(existsSync(join(service.dataDirectory, 'blobs'))).toBe(false)

    await scrapyd.kill()
    await service.kill()
    rmSync(join(service.dataDirectory, 'blob-cache'), { recursive: true })
    await service.start()
    const path = `${LOG_FOLDER}/${id}.log`
    const whole = Buffer.from(await (await ask(path)).arrayBuffer())
    expect(whole.toString()).toContain('line 3999 of the talk')
    const part = await ask(path, { range: 'bytes=100000-100099' })
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 100000-100099/${whole.length}`])
    expect(Buffer.from(await part.arrayBuffer())).toEqual(whole.subarray(100_000, 100_100))
    expect(await (await ask(`/items/shop/talks/${id}.jl`)).text()).toContain('"said": 4000')

    const metrics = await (await ask('/metrics')).text()
    expect(metrics).toMatch(/^scrapdeck_blobs_up 1$/m)
    expect(metrics).toMatch(/^scrapdeck_blob_requests_total\{operation="get",result="answered"\} [1-9]/m)
    expect(metrics).toMatch(/^scrapdeck_cache_entries\{cache="blobs"\} [1-9]/m)
  }, 120_000)

  test('reports that S3 is unreachable, serves what it has, and continues when S3 is back', async () => {
    const ready = async () => (await (await fetch(`${service.address}/health/ready`)).json()) as { reasons: string[] }
    expect((await ready()).reasons).toEqual([])
    await s3.kill()
    await until(
      'the upload to fail',
      async () => {
        const file = await aSpiderEgg(`${TALKS}\n# another\n`)
        return service.client.projects.upload({ file, project: 'shop', version: '2' }).then(
          () => null,
          (error: { code?: string }) => error.code
        )
      },
      (code) => code === 'BLOBS_UNUSABLE',
      60_000
    )
    await until('the reason', ready, ({ reasons }) => reasons.some((one) => one.includes('blob storage')), 30_000)
    expect((await fetch(`${service.address}/health/ready`)).status).toBe(200)
    const { jobs } = await service.client.jobs.list({ limit: 10 })
    expect((await ask(`${LOG_FOLDER}/${jobs.at(-1)!.id}.log`)).status).toBe(200)
    await s3.start()
    await until('no reason', ready, ({ reasons }) => reasons.length === 0, 40_000)
    await service.client.projects.upload({
      file: await aSpiderEgg(`${TALKS}\n# another\n`),
      project: 'shop',
      version: '2'
    })
  }, 180_000)

  test('has its blobs copied to a data directory and back while it is stopped', async () => {
    await expect(copy(address(), copies)).rejects.toMatchObject({ stderr: expect.stringContaining('Stop it first') })
    await service.kill()
    const there = objects().length
    const counts = async (from: string, to: string) =>
      JSON.parse((await copy(from, to)).stdout) as { copied: number; same: number }
    expect(await counts(address(), copies)).toMatchObject({ copied: there, same: 0, total: there })
    const name = readdirSync(join(copies, 'blobs', 'logs'))[0]!
    rmSync(join(copies, 'blobs', 'logs', name))
    expect(await counts(address(), copies)).toMatchObject({ copied: 1, same: there - 1 })
    expect(await counts(copies, address())).toMatchObject({ copied: 0, same: there })
    const elsewhere = `s3://${S3_BUCKET}/elsewhere?endpoint=${s3.endpoint}`
    expect(await counts(copies, elsewhere)).toMatchObject({ copied: there, same: 0 })
    expect(await counts(elsewhere, address())).toMatchObject({ copied: 0, same: there })
    const stranger = { localSlots: 0, arguments: [`--blobs=${address()}`], environment: S3_KEYS }
    await expect(startService(stranger)).rejects.toThrow('belong to the store of another Scrapdeck')
    await service.start()
    await expect(copy(service.dataDirectory, elsewhere)).rejects.toMatchObject({
      stderr: expect.stringContaining('blobs')
    })
  }, 120_000)
})
