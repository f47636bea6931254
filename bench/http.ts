import { parseArgs } from 'node:util'
import { type Figure, round } from './figure.ts'
import { BenchProblem } from './support/bench-problem.ts'
import { machine } from './support/bench-engine.ts'
import { ENDPOINTS, type Endpoint, generateLoad, type Server } from './support/generate-load.ts'
import { memoryOfListener } from './support/listening-process.ts'
import type { LoadResult } from './support/load.ts'
import { basicAuthorization } from '../e2e/support/basic-authorization.ts'

export const about =
  'requests to any Scrapyd, or to two side by side: --url URL --endpoint mixed --requests N --concurrency C'

const USAGE = `npm run bench -- http --url URL [--username NAME --password PASSWORD]
    [--endpoint ${ENDPOINTS.join('|')}] [--requests 1000] [--concurrency 50] [--project NAME --spider NAME]
  npm run bench -- http --compare --sync-url URL --async-url URL …     two servers, every endpoint that only reads
    [--sync-username NAME --sync-password PASSWORD --async-username NAME --async-password PASSWORD]
Only "schedule" changes something: it queues that many jobs. Without --project, the server's first project is used.`

/** Those of a comparison: what can be asked of a server in use. */
const COMPARED: Endpoint[] = ['daemonstatus', 'listprojects', 'listspiders', 'listjobs', 'mixed']

interface Measured extends LoadResult {
  memoryMb: number | null
}

function read(words: string[]) {
  try {
    return parseArgs({
      args: words,
      options: {
        ...{ url: { type: 'string' }, username: { type: 'string' }, password: { type: 'string' } },
        ...{ endpoint: { type: 'string', default: 'daemonstatus' } },
        ...{ requests: { type: 'string', default: '1000' }, concurrency: { type: 'string', default: '50' } },
        ...{ project: { type: 'string' }, spider: { type: 'string' }, compare: { type: 'boolean', default: false } },
        ...{ 'sync-url': { type: 'string' }, 'sync-username': { type: 'string' }, 'sync-password': { type: 'string' } },
        ...{
          'async-url': { type: 'string' },
          'async-username': { type: 'string' },
          'async-password': { type: 'string' }
        }
      }
    } as const)
  } catch (error) {
    throw new BenchProblem(`${(error as Error).message}\nUsage: ${USAGE}`, { cause: error })
  }
}

/** Sends requests to servers that run already, and prints what they took. */
export async function run(words: string[]): Promise<Figure[]> {
  const { values } = read(words)
  const endpoint = ENDPOINTS.find((one) => one === values.endpoint)
  if (endpoint === undefined)
    throw new BenchProblem(`There is no endpoint "${values.endpoint}". There are: ${ENDPOINTS.join(', ')}.`)
  const [requests, connections] = [Number(values.requests), Number(values.concurrency)]
  const { username, password, project, spider } = values
  const accounts = values.compare
    ? [
        { url: values['sync-url'], username: values['sync-username'], password: values['sync-password'] },
        { url: values['async-url'], username: values['async-username'], password: values['async-password'] }
      ]
    : [{ url: values.url, username, password }]
  if (accounts.some(({ url }) => url === undefined) || !(requests >= 1) || !(connections >= 1))
    throw new BenchProblem(`Usage: ${USAGE}`)
  const servers = await Promise.all(
    accounts.map((own) => {
      const named = { username: own.username ?? username, password: own.password ?? password ?? '' }
      const credentials = named.username === undefined ? null : { ...named, username: named.username }
      return openServer(own.url!, { credentials, project, spider })
    })
  )
  const conditions = { requests, concurrency: connections, ...machine() }
  const figures: Figure[] = []
  const rows: [Endpoint, Measured[]][] = []
  for (const one of values.compare ? COMPARED : [endpoint]) {
    const measured: Measured[] = []
    for (const server of servers) {
      const result = await generateLoad(server, one, { connections, until: { requests } })
      measured.push({ ...result, memoryMb: memoryOfListener(Number(new URL(server.url).port || 80)) })
      if (result.error !== null) process.stderr.write(`${one}: ${result.errors} errors; the first: ${result.error}\n`)
      figures.push(...figuresOf(one, measured.at(-1)!, { url: server.url, ...conditions }))
    }
    rows.push([one, measured])
  }
  process.stderr.write(`\n${tableOf(rows)}\n`)
  return figures
}

function figuresOf(endpoint: Endpoint, result: Measured, conditions: Figure['conditions']): Figure[] {
  const { requests, seconds, averageMs, p50Ms, p95Ms, p99Ms, errors, memoryMb } = result
  const figure = (name: string, value: number, unit: string) => ({
    ...{ figure: `${endpoint}_${name}`, value: round(value), unit, conditions }
  })
  return [
    figure('per_s', requests / seconds, 'requests/s'),
    figure('average_ms', averageMs, 'ms'),
    figure('p50_ms', p50Ms, 'ms'),
    figure('p95_ms', p95Ms, 'ms'),
    figure('p99_ms', p99Ms, 'ms'),
    figure('errors', errors, 'requests'),
    ...(memoryMb === null ? [] : [figure('memory_mb', memoryMb, 'MB')])
  ]
}

/** For people: one row per endpoint and server; where two are compared, how many times as fast the second is. */
function tableOf(rows: [Endpoint, Measured[]][]): string {
  const lines = rows.flatMap(([endpoint, measured]) =>
    measured.map((result, index) => {
      const { requests, seconds, averageMs, p50Ms, p95Ms, p99Ms, errors, memoryMb } = result
      const perSecond = requests / seconds
      const first = measured[0]!
      const rating = index === 0 ? '' : `${(perSecond / (first.requests / first.seconds)).toFixed(1)}×`
      const times = [averageMs, p50Ms, p95Ms, p99Ms].map((ms) => ms.toFixed(1))
      const cells = [perSecond.toFixed(0), ...times, String(errors)]
      return [
        `${endpoint}${index === 0 ? '' : ' (second)'}`,
        ...cells,
        memoryMb === null ? '?' : String(memoryMb),
        rating
      ]
    })
  )
  const table = [
    ['', 'RPS', 'Avg RT (ms)', 'P50 RT (ms)', 'P95 RT (ms)', 'P99 RT (ms)', 'Errors', 'Memory (MB)', ''],
    ...lines
  ]
  const widths = table[0]!.map((_cell, column) => Math.max(...table.map((line) => line[column]!.length)))
  return table
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd()
    )
    .join('\n')
}

/** Names a project and a spider of the server, which some endpoints need. */
async function openServer(
  given: string,
  {
    credentials,
    project,
    spider
  }: Pick<Server, 'credentials'> & { project: string | undefined; spider: string | undefined }
): Promise<Server> {
  const url = given.endsWith('/') ? given : `${given}/`
  const headers: Record<string, string> = {}
  if (credentials !== null) {
    headers['authorization'] = basicAuthorization(credentials)
  }
  const ask = async (path: string) => {
    const answer = await fetch(url + path, { headers }).catch((error: Error) => {
      const cause = error.cause instanceof Error ? error.cause.message || String(Reflect.get(error.cause, 'code')) : ''
      throw new BenchProblem(`${url} does not answer (${cause || error.message}).`, { cause: error })
    })
    if (answer.status === 401) throw new BenchProblem(`${url} rejected the user name or the password.`)
    if (answer.status !== 200) throw new BenchProblem(`${url}${path} answered with ${answer.status}.`)
    return (await answer.json()) as { projects?: string[]; spiders?: string[] }
  }
  const name = project ?? (await ask('listprojects.json')).projects?.[0] ?? 'none'
  const spiders =
    spider === undefined ? (await ask(`listspiders.json?project=${encodeURIComponent(name)}`)).spiders : []
  return { url, credentials, project: name, spider: spider ?? spiders?.[0] ?? 'none' }
}
