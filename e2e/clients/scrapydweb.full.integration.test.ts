import { afterAll, beforeAll, expect, it } from 'vitest'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { type Service, startService, TEST_CREDENTIALS } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'

/**
 * Tests what ScrapydWeb and Gerapy rely on (scrapyd-protocol.md, 7.4; my8100/scrapydweb, views/dashboard/jobs.py,
 * views/files/logs.py and log.py; Gerapy/Gerapy, server/core/views.py). Both pin Flask and Django versions of 2021,
 * so this file copies their rules.
 */

const authorization = basicAuthorization(TEST_CREDENTIALS)
let service: Service

beforeAll(async () => {
  service = await startService({ localSlots: 1 })
})
afterAll(async () => service?.stop())

async function ask(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(service.address + path, { headers: { authorization, ...headers } })
}

/** Posts a form as ScrapydWeb does, which sends even eggs in this way, with their bytes percent-encoded. */
async function postForm(endpoint: string, body: string): Promise<Record<string, unknown>> {
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' }
  const response = await fetch(`${service.address}/${endpoint}`, { method: 'POST', headers, body })
  expect(response.status).toBe(200)
  return (await response.json()) as Record<string, unknown>
}

interface Row {
  project: string
  spider: string
  job: string
  pid: string
  start: string
  runtime: string
  finish: string
  log: string
  items: string
}

const COLUMNS = ['project', 'spider', 'job', 'pid', 'start', 'runtime', 'finish', 'log', 'items'] as const

/**
 * ScrapydWeb expects a bare <tr> and three to nine bare <td>, each on one line with only white space between them.
 */
function rowsOf(page: string): Row[] {
  const cell = String.raw`<td>(.*?)</td>\s*`
  const row = new RegExp(String.raw`<tr>\s*${cell.repeat(3)}${`(?:${cell})?`.repeat(6)}[\s\S]*?</tr>`, 'g')
  const rows = page.replaceAll(/<thead>.*?<\/thead>/gs, '').matchAll(row)
  return [...rows].map(([, ...cells]) => {
    return Object.fromEntries(COLUMNS.map((name, index) => [name, cells[index] ?? ''])) as unknown as Row
  })
}

/** How ScrapydWeb distinguishes the states of jobs. */
const stateOf = (row: Row) => (row.start === '' ? 'pending' : row.finish === '' ? 'running' : 'finished')

const hrefOf = (cell: string) => /href=['"](.+?)['"]/.exec(cell)?.[1]

async function readJobs(): Promise<Row[]> {
  const response = await ask('/jobs')
  expect(response.status).toBe(200)
  const page = await response.text()
  expect(page).toContain('<h1>Jobs</h1>')
  return rowsOf(page)
}

it('ScrapydWeb: uploads an egg in a form, and reads pending, running and finished jobs from the page', async () => {
  const egg = [...(await buildDemoEgg())].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  expect(await postForm('addversion.json', `project=demo&version=2018-12-11T01_02_03&egg=${egg}`)).toMatchObject({
    status: 'ok',
    spiders: 4
  })
  const jobid = (number: number) => `2018-09-05T03_13_5${number}`
  const settings = 'setting=ROBOTSTXT_OBEY%3DFalse&setting=CLOSESPIDER_PAGECOUNT%3D2'
  await postForm(
    'schedule.json',
    `project=demo&_version=2018-12-11T01_02_03&spider=quotes&jobid=${jobid(0)}&${settings}&pages=1`
  )
  await until('the first job to finish', readJobs, (rows) => rows.some((row) => stateOf(row) === 'finished'))
  for (const number of [1, 2]) await postForm('schedule.json', `project=demo&spider=slow&jobid=${jobid(number)}`)
  const rows = await until('the second job to run, with its log', readJobs, (seen) =>
    seen.some((row) => stateOf(row) === 'running' && row.log !== '')
  )

  expect(rows.map((row) => [row.project, row.spider, row.job, stateOf(row)])).toEqual([
    ['demo', 'slow', jobid(2), 'pending'],
    ['demo', 'slow', jobid(1), 'running'],
    ['demo', 'quotes', jobid(0), 'finished']
  ])
  const time = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/
  const [pending, running, finished] = rows as [Row, Row, Row]
  expect([pending.pid, pending.start, pending.runtime, pending.finish, pending.log]).toEqual(['', '', '', '', ''])
  expect([running.pid, running.start, running.finish]).toEqual([
    expect.stringMatching(/^\d+$/),
    expect.stringMatching(time),
    ''
  ])
  expect([finished.pid, finished.start, finished.finish]).toEqual([
    '',
    expect.stringMatching(time),
    expect.stringMatching(time)
  ])
  for (const row of [running, finished]) expect(row.runtime).toMatch(/^(\d+ days?, )?\d+:\d\d:\d\d$/)
  expect(hrefOf(running.log)).toBe(`/logs/demo/slow/${jobid(1)}.log`)
  expect(hrefOf(finished.log)).toBe(`/logs/demo/quotes/${jobid(0)}.log`)
  // Without items, ScrapydWeb must not mistake the Cancel cell for the Items cell.
  for (const row of rows) expect(row.items).not.toContain('form')

  // In ScrapydWeb, a stop sends one cancel and a forced stop sends two.
  expect(await postForm('cancel.json', `project=demo&job=${jobid(2)}`)).toMatchObject({ prevstate: 'pending' })
  expect(await postForm('cancel.json', `project=demo&job=${jobid(1)}`)).toMatchObject({ prevstate: 'running' })
  await postForm('cancel.json', `project=demo&job=${jobid(1)}`)
  await until('all jobs to end', readJobs, (seen) => seen.every((row) => stateOf(row) === 'finished'))
})

it('ScrapydWeb: finds a log through the directory pages, by the suffixes it tries', async () => {
  const entriesOf = async (path: string) => {
    const response = await ask(path)
    const page = await response.text()
    expect([response.status, page]).toEqual([200, expect.stringContaining(`Directory listing for ${path}`)])
    // A row of class odd or even has five bare cells. The first contains a link to the file.
    const cell = String.raw`\s*<td>(.*?)</td>`
    const rows = page.matchAll(new RegExp(String.raw`<tr class="(?:odd|even)">${cell.repeat(5)}\s*</tr>`, 'g'))
    return [...rows].map(([, link = '', size = '', modified = '', type = '']) => {
      const [, href, name] = /<a href="(.*?)">(.*?)<\/a>/.exec(link) ?? []
      return { href, name, size, modified, type }
    })
  }
  expect(await entriesOf('/logs/')).toMatchObject([{ href: 'demo/', name: 'demo/', size: '', type: '[Directory]' }])
  expect(await entriesOf('/logs/demo/')).toMatchObject([{ href: 'quotes/' }, { href: 'slow/' }])
  const [log] = await entriesOf('/logs/demo/quotes/')
  expect(log).toMatchObject({
    href: expect.stringMatching(/\.log$/),
    size: expect.stringMatching(/^\d+[BKM]$/),
    modified: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d$/),
    type: '[text/plain]'
  })

  const found = []
  for (const suffix of ['.log', '.log.gz', '.txt', '.gz', '']) {
    found.push((await ask(`/logs/demo/quotes/2018-09-05T03_13_50${suffix}`)).status)
  }
  expect(found).toEqual([200, 404, 404, 404, 404])
  // Without LogParser, ScrapydWeb reads the log itself.
  expect((await ask('/logs/stats.json')).status).toBe(404)
  expect((await ask('/logs/demo/quotes/2018-09-05T03_13_50.json')).status).toBe(404)
})

it('Gerapy: reads the last thousand bytes of a log', async () => {
  const path = '/logs/demo/quotes/2018-09-05T03_13_50.log'
  const whole = Buffer.from(await (await ask(path)).arrayBuffer())
  expect(whole.length).toBeGreaterThan(1000)
  const tail = await ask(path, { range: 'bytes=-1000' })
  expect(tail.status).toBe(206)
  expect(tail.headers.get('content-range')).toBe(`bytes ${whole.length - 1000}-${whole.length - 1}/${whole.length}`)
  expect(Buffer.from(await tail.arrayBuffer()).equals(whole.subarray(-1000))).toBe(true)
})
