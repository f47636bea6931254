import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { pickLength } from '../../scripts/test-length.mjs'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { until } from '../../src/engine/testing/until.ts'
import type { Job, JobId } from '../../src/shared/contract/index.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { type ScrapydVersion, scrapydProblem } from '../support/scrapyd-fleet.ts'
import { type Service, startService } from '../support/service.ts'
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts'
import { PACKAGE_DIRECTORY, startPullingScrapyd, untilUp } from './pulling-scrapyd.ts'

const VERSIONS: ScrapydVersion[] = pickLength<ScrapydVersion[]>(['1.6.0'], ['1.4.3', '1.5.0', '1.6.0'])

async function startWithDemo(): Promise<Service> {
  const service = await startService({ localSlots: 0 })
  onTestFinished(() => service.stop())
  await uploadDemo(service, '1')
  return service
}

async function run(service: Service, spider: string, args: Record<string, string> = {}): Promise<JobId> {
  const { jobs } = await service.client.jobs.run({ project: 'demo', version: '1', spiders: [spider], args })
  return jobs[0]!.id
}

const SHORT = { pages: '1', delay: '0' }

const jobOf = async (service: Service, id: JobId): Promise<Job> => (await service.client.jobs.get({ id })).job

const untilStatus = (service: Service, id: JobId, status: Job['status']): Promise<Job> =>
  until(
    `job ${status}`,
    () => jobOf(service, id),
    (job) => job.status === status,
    60_000
  )

const startsOf = (output: string, jobid: string): number =>
  [...output.matchAll(/Process started:.*/g)].filter(([line]) => line.includes(`job='${jobid}'`)).length

it.each(VERSIONS.filter((version) => scrapydProblem(version) === null))(
  'a Scrapyd %s behind a proxy runs jobs: logs live and archived, items, a cancel within 2 s',
  async (version) => {
    const service = await startWithDemo()
    const proxy = await startCuttingProxy()
    onTestFinished(() => proxy.close())
    const pulled = await startPullingScrapyd(service, { version, environment: proxied(proxy) })
    onTestFinished(() => pulled.scrapyd.stop())
    expect(proxy.counts.get('/api/node/v1/open')).toBeGreaterThan(0)
    expect(await service.client.nodes.get({ id: pulled.nodeId })).toMatchObject({
      kind: 'pulling',
      slots: 2,
      slotsText: 'reported by the node (max_proc)',
      hasToken: true
    })

    const slow = await run(service, 'slow', { delay: '0.1' })
    const tail = await service.client.logs.tail({ jobId: slow })
    let seen = ''
    for await (const { text } of tail) {
      seen += text
      if (/Tick \d/.test(seen)) break
    }
    expect(await jobOf(service, slow)).toMatchObject({ status: 'running' })
    const askedAtMs = Date.now()
    await service.client.jobs.cancel({ ids: [slow] })
    await until('the spider got the signal', () => /Received SIGINT/.test(logOnNode(pulled.scrapyd.directory, 'slow')))
    expect(Date.now() - askedAtMs).toBeLessThan(2_000)
    await untilStatus(service, slow, 'cancelled')

    const quotes = await run(service, 'quotes', SHORT)
    await untilStatus(service, quotes, 'succeeded')
    await pulled.scrapyd.stop()
    const archived = await service.client.logs.read({ jobId: quotes, offset: 0 })
    expect(archived.text).toContain('Spider closed (finished)')
  }
)

it('a lost message, in either direction, neither loses a run nor repeats one', async () => {
  const service = await startWithDemo()
  const proxy = await startCuttingProxy()
  onTestFinished(() => proxy.close())
  const pulled = await startPullingScrapyd(service, { environment: proxied(proxy) })
  onTestFinished(() => pulled.scrapyd.stop())
  for (const path of ['poll', 'claim', 'lists', 'data', 'answer']) {
    proxy.lose('answer', `/v1/${path}`, 2)
    proxy.lose('request', `/v1/${path}`, 1)
  }
  proxy.lose('answer', '', 1)
  const jobs = await Promise.all([run(service, 'quotes', SHORT), run(service, 'quotes', SHORT)])
  for (const id of jobs) {
    const { jobid, attemptCount } = await untilStatus(service, id, 'succeeded')
    expect(attemptCount).toBe(1)
    expect(startsOf(pulled.scrapyd.output(), jobid)).toBe(1)
  }
  expect(proxy.lost).toBeGreaterThan(6)
})

it('a kill -9 of either side at any time loses no job and runs none twice', async () => {
  const service = await startWithDemo()
  const pulled = await startPullingScrapyd(service)
  const { scrapyd, nodeId } = pulled
  onTestFinished(() => scrapyd.stop())
  const [first, second, third] = await Promise.all([
    run(service, 'slow', { seconds: '4' }),
    run(service, 'slow', { seconds: '4' }),
    run(service, 'quotes', SHORT)
  ])
  await untilStatus(service, first, 'running')
  await untilStatus(service, second, 'running')
  await scrapyd.kill()
  await service.kill()
  await scrapyd.restart()
  await service.start()
  await untilUp(service, nodeId)
  for (const id of [first, second, third]) {
    const { jobid, attemptCount } = await untilStatus(service, id, 'succeeded')
    expect(attemptCount).toBe(1)
    expect(startsOf(scrapyd.output(), jobid)).toBe(1)
  }
  const orphan = await run(service, 'slow')
  await untilStatus(service, orphan, 'running')
  await scrapyd.kill()
  await scrapyd.restart()
  await untilUp(service, nodeId)
  await service.client.jobs.cancel({ ids: [orphan] })
  await untilStatus(service, orphan, 'cancelled')
})

it('a token works only for its node, until it is renewed or revoked', async () => {
  const service = await startWithDemo()
  const { node, token } = await service.client.nodes.addPulling({ name: 'nat' })
  const ask = (path: string, bearer: string) =>
    fetch(`${service.address}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: '{}'
    })
  expect((await ask('/api/node/v1/open', token)).status).toBe(400)
  expect((await ask('/api/node/v1/open', `${token.slice(0, -1)}x`)).status).toBe(401)
  expect((await ask('/api/v1/system/pause', token)).status).toBe(401)
  const { token: renewed } = await service.client.nodes.renewToken({ id: node.id })
  expect((await ask('/api/node/v1/open', token)).status).toBe(401)
  expect((await ask('/api/node/v1/open', renewed)).status).toBe(400)
  expect(await service.client.nodes.revokeToken({ id: node.id })).toMatchObject({ hasToken: false })
  expect((await ask('/api/node/v1/open', renewed)).status).toBe(401)
})

const NODES = pickLength(10, 50)
const JOBS = pickLength(300, 10_000)

it(
  `${NODES} nodes pull ${JOBS} jobs through a proxy that loses connections, each job exactly once`,
  async () => {
    const service = await startWithDemo()
    const proxy = await startCuttingProxy()
    onTestFinished(() => proxy.close())
    const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-pulling-'))
    const tokens: string[] = []
    for (let number = 0; number < NODES; number += 1) {
      tokens.push((await service.client.nodes.addPulling({ name: `nat-${number}` })).token)
    }
    const child = spawn(
      readTestEnvironment().python,
      [join(PACKAGE_DIRECTORY, 'tests/stand_in.py'), directory, service.address],
      { stdio: ['pipe', 'ignore', 'inherit'], env: { ...process.env, STAND_IN_PROXY: proxy.url } }
    )
    onTestFinished(async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    })
    child.stdin.end(tokens.join('\n'))
    proxy.cutEvery = 50
    const orders = Array.from({ length: JOBS }, (_, number) => ({
      project: 'demo',
      version: '1',
      spider: 'quotes',
      args: { number: String(number) }
    }))
    const { ids } = await service.client.jobs.runMany({ jobs: orders })
    const count = async () => {
      const { status } = await service.client.jobs.count({ ids })
      return Object.fromEntries(status.map(({ value, count }) => [value, count]))
    }
    const limitMs = pickLength(90_000, 1_500_000)
    await until('all jobs succeeded', count, (counts) => counts['succeeded'] === JOBS, limitMs)
    const starts = readdirSync(directory).flatMap((node) =>
      readFileSync(join(directory, node, 'starts'), 'utf8')
        .trim()
        .split('\n')
        .filter(Boolean)
    )
    expect(starts).toHaveLength(JOBS)
    expect(new Set(starts).size).toBe(JOBS)
    expect(proxy.lost).toBeGreaterThan(JOBS / 100)
  },
  pickLength(110_000, 1_600_000)
)

/** The environment that an operator sets for Scrapyd. The empty no_proxy includes loopback addresses. */
const proxied = ({ url }: CuttingProxy) => ({ http_proxy: url, HTTP_PROXY: url, no_proxy: '', NO_PROXY: '' })

function logOnNode(directory: string, spider: string): string {
  const parent = join(directory, 'logs', 'demo', spider)
  return readdirSync(parent)
    .map((name) => readFileSync(join(parent, name), 'utf8'))
    .join('')
}
