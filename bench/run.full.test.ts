import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const bench = (...args: string[]) =>
  spawnSync(process.execPath, [`${import.meta.dirname}/run.ts`, ...args], { encoding: 'utf8' })

test('without a name it lists the benches, each with a description', () => {
  const lines = bench().stdout.trimEnd().split('\n')
  expect(lines.map((line) => line.split(/\s+/)[0])).toContain('first-dispatch')
  for (const line of lines) expect(line).toMatch(/^\S+\s+\S.{15,}$/)
})

test('an unknown name is refused with a list of the known ones', () => {
  const { status, stderr } = bench('nothing')
  expect(status).toBe(1)
  expect(stderr).toMatch(/^There is no bench nothing\. There are: .*\bfirst-dispatch\b/)
})

test.each([
  [['--requests', '0'], /^Usage: npm run bench -- http \[--url http:\/\/localhost:6800\]/],
  [['--url', 'http://127.0.0.1:2', '--endpoint', 'zork'], /^There is no endpoint "zork"\. There are: daemonstatus/],
  [['--url', 'http://127.0.0.1:2', '--zork'], /^Unknown option '--zork'/],
  [['--url', 'http://127.0.0.1:2'], /^http:\/\/127\.0\.0\.1:2\/ does not answer \(.*ECONNREFUSED/]
])('http %j says what is wrong, without a stack', (words, said) => {
  const { status, stderr, stdout } = bench('http', ...words)
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(said)
  expect(stderr).not.toContain('    at ')
})

async function openScrapyd(projects: string[]): Promise<string> {
  const server = http.createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://any')
    const project = searchParams.get('project')
    const isKnown = project === null || projects.includes(project)
    const list = pathname === '/listprojects.json' ? { projects } : { spiders: ['one'] }
    response.end(
      isKnown
        ? `{"status": "ok", ${JSON.stringify(list).slice(1)}`
        : '{"status": "error", "message": "Traceback (most recent call last):\\nKeyError: none"}'
    )
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const measure = async (...words: string[]) => {
  const args = [`${import.meta.dirname}/run.ts`, 'http', '--requests', '40', '--concurrency', '2', ...words]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args)
  const [names, ...rows] = stderr.trim().split('\n')
  const figures = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { figure: string; value: number })
  return { names, rows, figures }
}

test('http without an endpoint prints the five rows of the source, each with a rating', async () => {
  const { names, rows, figures } = await measure('--url', await openScrapyd(['shop']))
  expect(names!.trim().split(/ {2,}/)).toEqual([
    ...['RPS', 'Avg RT (ms)', 'P50 RT (ms)', 'P95 RT (ms)', 'P99 RT (ms)', 'Errors', 'Memory (MB)', 'Rating']
  ])
  const titles = ['Daemon Status', 'List Projects', 'List Spiders', 'High Concurrency', 'Mixed Workload']
  expect(rows.map((row) => row.split(/ {2,}/)[0])).toEqual(titles)
  for (const row of rows) expect(row).toMatch(/^\D+\d+( +[\d.]+){4} +0\.0 % +(?:\d+|\?) +(?:excellent|good|fair|poor)$/)
  expect(figures).toContainEqual(expect.objectContaining({ figure: 'mixed_workload_errors_percent', value: 0 }))
  const crowded = { figure: 'high_concurrency_per_s', conditions: expect.objectContaining({ concurrency: 4 }) }
  expect(figures).toContainEqual(expect.objectContaining(crowded))
})

test('http has no ratio for a row that is all errors, and says what is missing on the server', async () => {
  const [empty, full] = [await openScrapyd([]), await openScrapyd(['shop'])]
  const { rows, figures } = await measure('--compare', '--sync-url', empty, '--async-url', full)
  const lineOf = (title: string) => rows.find((row) => row.startsWith(`${title}  `))!
  expect(lineOf('List Spiders')).toMatch(
    /^List Spiders( +-){5} +100\.0 % +(\d+|\?) +none: the server has no project: deploy one$/
  )
  expect(lineOf('List Spiders (second)')).toMatch(/ 0\.0 % +(\d+|\?) +- +(excellent|good|fair|poor)$/)
  expect(lineOf('Daemon Status (second)')).toMatch(/ 0\.0 % +(\d+|\?) +\d+\.\d× +\w+$/)
  expect(lineOf('Mixed Workload')).toMatch(/ 50\.0 % +(\d+|\?) +poor: the server has no project: deploy one$/)
  const ofSpiders = figures.filter(({ figure }) => figure.startsWith('list_spiders_'))
  expect(ofSpiders[0]).toMatchObject({ figure: 'list_spiders_errors_percent', value: 100 })
})

test('http without arguments asks the port of a Scrapyd, and a comparison that one and the next', () => {
  const said = bench('http', '--requests', 'none').stderr
  expect(said).toContain('[--url http://localhost:6800]')
  expect(said).toContain('[--sync-url http://localhost:6801] [--async-url http://localhost:6800]')
})
