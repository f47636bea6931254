import { execFile } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { openTestApp } from './testing/test-app.ts'
import { isCore } from '../../scripts/test-length.mjs'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')
const RESOURCES = join(ROOT, 'resources', 'grafana')

const LOGGED = `2026-01-01 00:01:00 [scrapy.extensions.logstats] INFO: Crawled 7 pages (at 7 pages/min), scraped 5 items (at 5 items/min)
2026-01-01 00:01:01 [prices] ERROR: no price
2026-01-01 00:01:02 [prices] INFO: next
`
let running: string[] = []

async function readAll(): Promise<string> {
  const house = await openEngineWithFakeNode()
  const { ask } = openTestApp()
  try {
    await house.prepare()
    const { jobs } = await house.client.jobs.run({ project: 'shop', spiders: ['prices', 'prices'] })
    await house.until(async () => house.node.running.length === 2)
    for (const { id } of jobs) house.node.logs.set(id, `${house.node.logs.get(id)}${LOGGED}`)
    await house.until(async () => /_running_pages{.*} 14$/m.test(await house.metrics()))
    running = (await house.metrics()).split('\n').filter((line) => /^\w+_running_/.test(line))
    for (const { id } of jobs) house.node.end(id)
    const isOver = async (id: string) => (await house.client.jobs.get({ id })).job.state === 'ended'
    await house.until(async () => (await Promise.all(jobs.map(({ id }) => isOver(id)))).every(Boolean))
    await house.client.schedules.create({
      name: 'often',
      zone: 'UTC',
      overlap: 'allow' as const,
      rules: [{ kind: 'cron' as const, expression: '*/10 * * * * *' }],
      jobs: [{ project: 'shop', spiders: ['prices'] }]
    })
    await house.until(async () => (await house.client.schedules.firings({})).firings.length > 0)
    await ask({ url: '/api/v1/nodes' })
    await ask({ url: '/no/such/path' })
    const doors = (await ask({ url: '/metrics' })).body.replaceAll(/^.*scrapdeck_info.*\n/gm, '')
    return (await house.metrics()) + doors
  } finally {
    await house.remove()
  }
}

let told: Promise<string> | null = null
const readOnce = () => (told ??= readAll())

/** promtool of Debian's prometheus package: the installed one, or our copy next to the npm packages. */
async function findPromtool(): Promise<string> {
  if (
    await run('promtool', ['--version']).then(
      () => true,
      () => false
    )
  )
    return 'promtool'
  const directory = join(ROOT, 'node_modules', '.cache', 'prometheus')
  const own = join(directory, 'usr', 'bin', 'promtool')
  await mkdir(directory, { recursive: true })
  const has = await run(own, ['--version']).then(
    () => true,
    () => false
  )
  if (!has) await run('sh', ['-c', 'apt-get download prometheus && dpkg -x prometheus_*.deb .'], { cwd: directory })
  return own
}

describe('metrics', () => {
  it('count jobs, attempts, items, waits, firings and requests', async () => {
    const text = await readOnce()
    const valueOf = (series: string) => {
      const line = text.split('\n').find((one) => one.startsWith(`${series} `))
      return line === undefined ? undefined : Number(line.slice(series.length + 1))
    }
    expect(valueOf('scrapdeck_jobs_ended_total{project="shop",spider="prices",outcome="succeeded"}')).toBe(2)
    expect(valueOf('scrapdeck_spider_items_total{project="shop",spider="prices"}')).toBe(6)
    expect(valueOf('scrapdeck_attempts_ended_total{result="succeeded",node="berlin"}')).toBe(2)
    expect(valueOf('scrapdeck_dispatch_latency_seconds_count')).toBeGreaterThanOrEqual(2)
    expect(valueOf('scrapdeck_send_seconds_count')).toBeGreaterThanOrEqual(2)
    expect(valueOf('scrapdeck_node_slots{node="berlin"}')).toBe(2)
    expect(valueOf('scrapdeck_schedule_firings_total{state="fired"}')).toBeGreaterThanOrEqual(1)
    expect(valueOf('scrapdeck_runs_started_total{node="berlin"}')).toBeGreaterThanOrEqual(2)
    expect(valueOf('scrapdeck_disk_free_bytes')).toBeGreaterThan(0)
    expect(valueOf('scrapdeck_disk_size_bytes')).toBeGreaterThanOrEqual(valueOf('scrapdeck_disk_free_bytes')!)
    expect(valueOf('scrapdeck_machine_memory_bytes')).toBeGreaterThan(0)
    expect(valueOf('scrapdeck_cache_misses_total{cache="logs"}')).toBe(0)
    expect(valueOf('scrapdeck_cache_bytes{cache="logs"}')).toBe(0)
    expect(valueOf('scrapdeck_cache_entries{cache="scrapyd_lists"}')).toBe(0)
    for (const cache of ['scrapyd_lists', 'logs'])
      expect(valueOf(`scrapdeck_cache_size{cache="${cache}"}`)).toBe(
        valueOf(`scrapdeck_cache_entries{cache="${cache}"}`)
      )
    // Counted by route, so all unknown paths together are one series.
    expect(text).toMatch(/^scrapdeck_http_requests_total\{method="GET",route="none",status="404"\} 1$/m)
    expect(valueOf('process_resident_memory_bytes')).toBeGreaterThan(0)
  })

  it('sum up facts from the logs of running jobs by spider, until they end', async () => {
    const text = await readOnce()
    const of = '{project="shop",spider="prices"}'
    expect(running).toEqual([
      ...[`scrapdeck_running_pages${of} 14`, `scrapdeck_running_items${of} 10`, `scrapdeck_running_errors${of} 2`]
    ])
    expect(text).toContain('# TYPE scrapdeck_running_pages gauge')
    expect(text).not.toContain(`scrapdeck_running_pages${of} 14`)
  })

  it('have names with the configured prefix', async () => {
    const metrics = { isServed: true, prefix: 'scrapyd', openTo: [] }
    const { ask } = openTestApp({ metrics })
    await ask({ url: '/daemonstatus.json' })
    const { body } = await ask({ url: '/metrics' })
    expect(body).toMatch(/^scrapyd_http_requests_total\{method="GET",route="\/daemonstatus\.json",status="200"\} 1$/m)
    expect(body).toMatch(/^scrapyd_http_request_duration_seconds_bucket\{le="0\.1",/m)
    expect(body).not.toContain('scrapdeck_http')
  })

  it('can be read without a password only from allowed addresses, whatever a client claims', async () => {
    const metrics = { isServed: true, prefix: 'scrapdeck', openTo: ['10.1.0.0/16', '::1'] }
    const { app } = { app: openTestApp({ metrics }).fastify }
    const readFrom = async (remoteAddress: string, url = '/metrics', headers = {}) =>
      (await app.inject({ url, remoteAddress, headers: { host: '127.0.0.1:6800', ...headers } })).statusCode
    expect(await readFrom('10.1.2.3')).toBe(200)
    expect(await readFrom('::ffff:10.1.2.3')).toBe(200)
    expect(await readFrom('::1')).toBe(200)
    expect(await readFrom('10.2.0.1')).toBe(401)
    expect(await readFrom('10.2.0.1', '/metrics', { 'x-forwarded-for': '10.1.2.3' })).toBe(401)
    expect(await readFrom('10.1.2.3', '/daemonstatus.json')).toBe(401)
    expect(await readFrom('10.1.2.3', '//metrics')).toBe(200)
  })

  it('name the option that allows an address to read them without a password in their 401', async () => {
    const { askAnonymously } = openTestApp({ metrics: { isServed: true, prefix: 'scrapdeck', openTo: [] } })
    const { statusCode, headers, body } = await askAnonymously({ url: '/metrics' })
    expect([statusCode, headers['content-type'], headers['www-authenticate']]).toEqual([
      ...[401, 'text/plain; charset=utf-8', 'basic realm="Scrapyd"']
    ])
    expect(body).toMatch(/metrics_from.+\[scrapdeck\]/)
    expect((await askAnonymously({ url: '/daemonstatus.json' })).body).toBe('Unauthorized')
  })

  it('do not exist when they are turned off', async () => {
    const { ask } = openTestApp({ metrics: { isServed: false, prefix: 'scrapdeck', openTo: [] } })
    expect((await ask({ url: '/metrics' })).statusCode).toBe(404)
  })

  it.skipIf(isCore)('have the format that promtool requires', async () => {
    const text = await readOnce()
    const child = run(await findPromtool(), ['check', 'metrics'])
    child.child.stdin?.end(text)
    // promtool exits with an error even for style complaints about names.
    const said = await child.then(
      ({ stderr }) => stderr,
      (error: { stderr: string }) => error.stderr
    )
    expect(said).toBe('')
  })

  it('include everything that the dashboard and the alerts use, and the alerts fire at the right time', async () => {
    const [text, promtool] = [await readOnce(), await findPromtool()]
    const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!))
    const dashboard = await readFile(join(RESOURCES, 'dashboard.json'), 'utf8')
    const rules = await readFile(join(RESOURCES, 'alerts.yaml'), 'utf8')
    const { panels } = JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] }
    const asked = [rules, ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))].join('\n')
    const named = asked.replaceAll('${prefix}_', 'scrapdeck_')
    const names = [...named.matchAll(/\b(scrapdeck_[a-z0-9_]+|process_[a-z_]+)/g)].map(([name]) => name)
    expect(names.length).toBeGreaterThan(20)
    expect(names.filter((name) => !known.has(name) && !known.has(name.replace(/_bucket$/, '')))).toEqual([])
    await run(promtool, ['check', 'rules', 'alerts.yaml'], { cwd: RESOURCES })
    await run(promtool, ['test', 'rules', 'alerts.test.yaml'], { cwd: RESOURCES })
  })
})
