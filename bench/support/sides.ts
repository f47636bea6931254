import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureServiceBuilt } from '../../scripts/setup/build.mjs'
import { type ScrapydOptions, startScrapyd } from '../../e2e/support/scrapyd-fleet.ts'
import { startService, TEST_CREDENTIALS } from '../../e2e/support/service.ts'
import { buildEgg } from '../../src/engine/projects/egg-builder.ts'
import { until } from '../../src/engine/testing/until.ts'
import { type Endpoint, generateLoad } from './generate-load.ts'
import { endMarked, MARK } from './marked-processes.ts'
import { basicAuthorization } from '../../e2e/support/basic-authorization.ts'

/** One of the two servers that a bench compares. Both speak Scrapyd's API with a password. */
export interface Side {
  name: string
  url: string
  directory: string
  pid: number
  stop(): Promise<void>
}

const AUTHORIZATION = basicAuthorization(TEST_CREDENTIALS)
export const PROJECT = 'bench'

/** `noop` ends immediately, `idle` runs until it is stopped. `created` gives log lines microsecond timestamps. */
const PROJECT_FILES = {
  'scrapy.cfg': '[settings]\ndefault = bench.settings\n',
  'bench/__init__.py': '',
  'bench/settings.py':
    "SPIDER_MODULES = ['bench.spiders']\nLOG_FORMAT = '%(created).6f [%(name)s] %(levelname)s: %(message)s'\n",
  'bench/spiders/__init__.py': '',
  'bench/spiders/spiders.py': `import scrapy
from scrapy import signals
from scrapy.exceptions import DontCloseSpider


class Noop(scrapy.Spider):
    name = "noop"
    start_urls = []


class Idle(scrapy.Spider):
    name = "idle"
    start_urls = []

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.stay, signals.spider_idle)
        return spider

    def stay(self):
        raise DontCloseSpider
`
}

/** Starts the headless service as `npm run serve` does, and deploys the project. */
export async function startOurs(options: { slots: number }): Promise<Side> {
  if (process.platform !== 'linux')
    throw new Error('This bench finds the processes that it started in /proc: run it on Linux.')
  await ensureServiceBuilt()
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-'))
  const service = await startService({
    entry: 'out/service/scrapdeck.js',
    dataDirectory: directory,
    localSlots: options.slots,
    environment: { [MARK]: directory }
  })
  const side: Side = {
    name: 'Scrapdeck',
    url: `${service.address}/`,
    directory,
    pid: service.pid()!,
    async stop() {
      await service.kill()
      endMarked(directory)
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    }
  }
  try {
    await until(
      'Python ready',
      async () => (await service.client.system.status()).python.state === 'ready',
      Boolean,
      60_000
    )
    await deploy(side)
    await until(
      'warm',
      async () => (await service.client.system.status()).python.start.mode !== 'warming',
      Boolean,
      60_000
    )
  } catch (error) {
    await side.stop()
    throw error
  }
  return side
}

/** Starts Scrapyd 1.6 from PyPI and deploys the project. Omitted options keep Scrapyd's defaults. */
export async function startTheirs(
  name: string,
  options: Pick<ScrapydOptions, 'maxProc' | 'pollIntervalSeconds'>
): Promise<Side> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapyd-bench-'))
  const scrapyd = await startScrapyd({
    pollIntervalSeconds: SCRAPYD_POLL_SECONDS,
    ...options,
    ...TEST_CREDENTIALS,
    directory,
    forks: 'nothing',
    environment: { [MARK]: directory }
  })
  const side: Side = {
    name,
    url: scrapyd.url,
    directory,
    pid: scrapyd.pid()!,
    async stop() {
      await scrapyd.stop()
      endMarked(directory)
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    }
  }
  try {
    await deploy(side)
  } catch (error) {
    await side.stop()
    throw error
  }
  return side
}

/** Scrapyd's default (scrapyd-protocol.md, 8). */
export const SCRAPYD_POLL_SECONDS = 5

/** Calls an endpoint of Scrapyd's API. Rejects unless the response says "ok". */
export async function call(
  side: Side,
  endpoint: string,
  form?: Record<string, string | Blob>
): Promise<Record<string, unknown>> {
  const body = form === undefined ? undefined : encodeForm(form)
  const response = await fetch(side.url + endpoint, {
    method: form === undefined ? 'GET' : 'POST',
    headers: { authorization: AUTHORIZATION },
    body
  })
  const answer = (await response.json()) as Record<string, unknown>
  if (answer['status'] !== 'ok') throw new Error(`${side.name}: ${endpoint}: ${JSON.stringify(answer)}`)
  return answer
}

export async function schedule(side: Side, spider: 'noop' | 'idle'): Promise<string> {
  return (await call(side, 'schedule.json', { project: PROJECT, spider }))['jobid'] as string
}

export async function counts(side: Side): Promise<{ pending: number; running: number; finished: number }> {
  return (await call(side, 'daemonstatus.json')) as unknown as { pending: number; running: number; finished: number }
}

export async function untilQuiet(side: Side, limitMs = 300_000): Promise<void> {
  await until(
    `${side.name}: every job ended`,
    async () => {
      const { pending, running } = await counts(side)
      return pending + running === 0
    },
    Boolean,
    limitMs
  )
}

/** Waits for the line "Spider opened" in a run's log and returns the time that Scrapy wrote in it. */
export async function openedAtMs(side: Side, spider: 'noop' | 'idle', jobid: string): Promise<number> {
  let atSeconds: string | undefined
  await until(`${side.name}: the line "Spider opened" of ${jobid}`, async () => {
    atSeconds = /^([\d.]+) .*Spider opened$/m.exec((await readLog(side, spider, jobid)) ?? '')?.[1]
    return atSeconds !== undefined
  })
  return Number(atSeconds) * 1000
}

async function readLog(side: Side, spider: string, jobid: string): Promise<string | null> {
  const response = await fetch(`${side.url}logs/${PROJECT}/${spider}/${jobid}.log`, {
    headers: { authorization: AUTHORIZATION }
  })
  const text = await response.text()
  return response.status === 200 ? text : null
}

/** Returns requests per second, measured by a load generator in its own process. Rejects if any request failed. */
export async function measureLoad(
  side: Side,
  endpoint: Endpoint,
  load: { connections: number; durationMs: number }
): Promise<number> {
  const server = { url: side.url, credentials: TEST_CREDENTIALS, project: PROJECT, spider: 'noop' }
  const { connections, durationMs } = load
  const { requests, seconds, error } = await generateLoad(server, endpoint, { connections, until: { durationMs } })
  if (error !== null) throw new Error(`${side.name}: ${error}`)
  return requests / seconds
}

/** Writes to standard error, because the figures go to standard output. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`)
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

export function buildBenchEgg(): Promise<Uint8Array> {
  return buildEgg(Object.entries(PROJECT_FILES).map(([path, text]) => ({ path, bytes: Buffer.from(text) })))
}

async function deploy(side: Side): Promise<void> {
  const egg = await buildBenchEgg()
  await call(side, 'addversion.json', {
    project: PROJECT,
    version: '1',
    egg: new Blob([egg as Uint8Array<ArrayBuffer>])
  })
}

function encodeForm(form: Record<string, string | Blob>): URLSearchParams | FormData {
  const values = Object.entries(form)
  if (values.every((pair): pair is [string, string] => typeof pair[1] === 'string')) return new URLSearchParams(values)
  const body = new FormData()
  for (const [name, value] of values) body.set(name, value)
  return body
}
