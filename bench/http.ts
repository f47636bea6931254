import { parseArgs } from 'node:util'
import type { Figure } from './figure.ts'
import { BenchProblem } from './support/bench-problem.ts'
import { machine } from './support/bench-engine.ts'
import { ENDPOINTS, generateLoad, type Server } from './support/generate-load.ts'
import { figuresOf, type Measured, REPORT, type ReportRow, rowOf, tableOf } from './support/http-report.ts'
import { memoryOfListener } from './support/listening-process.ts'
import { basicAuthorization } from '../e2e/support/basic-authorization.ts'

export const about =
  'the report on any Scrapyd, or on two side by side: --url URL --requests N --concurrency C, or --compare'

const USAGE = `npm run bench -- http [--url http://localhost:6800] [--username NAME --password PASSWORD]
    [--requests 1000] [--concurrency 50] [--project NAME --spider NAME]
    [--endpoint ${ENDPOINTS.join('|')}]     this one instead of the whole report
  npm run bench -- http --compare [--sync-url http://localhost:6801] [--async-url http://localhost:6800] …
    [--sync-username NAME --sync-password PASSWORD --async-username NAME --async-password PASSWORD]
Only "schedule" changes something: it queues that many jobs. Without --project, the server's first project is used.`

/** The port of a Scrapyd or its replacement. The server to compare with has the next port. */
const DEFAULT_URL = 'http://localhost:6800'
const DEFAULT_SYNC_URL = 'http://localhost:6801'

function read(words: string[]) {
  try {
    return parseArgs({
      args: words,
      options: {
        url: { type: 'string', default: DEFAULT_URL },
        username: { type: 'string' },
        password: { type: 'string' },
        endpoint: { type: 'string' },
        requests: { type: 'string', default: '1000' },
        concurrency: { type: 'string', default: '50' },
        project: { type: 'string' },
        spider: { type: 'string' },
        compare: { type: 'boolean', default: false },
        'sync-url': { type: 'string', default: DEFAULT_SYNC_URL },
        'sync-username': { type: 'string' },
        'sync-password': { type: 'string' },
        'async-url': { type: 'string', default: DEFAULT_URL },
        'async-username': { type: 'string' },
        'async-password': { type: 'string' }
      }
    } as const)
  } catch (error) {
    throw new BenchProblem(`${(error as Error).message}\nUsage: ${USAGE}`, { cause: error })
  }
}

export async function run(words: string[]): Promise<Figure[]> {
  const { values } = read(words)
  const reported = rowsOf(values.endpoint)
  const [requests, connections] = [Number(values.requests), Number(values.concurrency)]
  const { username, password, project, spider } = values
  const accounts = values.compare
    ? [
        { url: values['sync-url'], username: values['sync-username'], password: values['sync-password'] },
        { url: values['async-url'], username: values['async-username'], password: values['async-password'] }
      ]
    : [{ url: values.url, username, password }]
  if (!(requests >= 1) || !(connections >= 1)) throw new BenchProblem(`Usage: ${USAGE}`)
  const servers = await Promise.all(
    accounts.map((own) => {
      const named = { username: own.username ?? username, password: own.password ?? password ?? '' }
      const credentials = named.username === undefined ? null : { ...named, username: named.username }
      return openServer(own.url, { credentials, project, spider })
    })
  )
  const conditions = { requests, concurrency: connections, ...machine() }
  const figures: Figure[] = []
  const rows: [ReportRow, Measured[]][] = []
  for (const row of reported) {
    const measured: Measured[] = []
    for (const server of servers) {
      const { url, missing } = server
      const load = { connections: connections * row.concurrencyTimes, until: { requests } }
      const result = await generateLoad(server, row.endpoint, load)
      const needsProject = !['daemonstatus', 'listprojects'].includes(row.endpoint)
      const memoryMb = memoryOfListener(Number(new URL(url).port || 80))
      measured.push({ ...result, memoryMb, missing: (needsProject ? missing : null) ?? result.error })
      figures.push(...figuresOf(row, measured.at(-1)!, { url, ...conditions, concurrency: load.connections }))
    }
    rows.push([row, measured])
  }
  process.stderr.write(`\n${tableOf(rows)}\n`)
  return figures
}

function rowsOf(name: string | undefined): ReportRow[] {
  if (name === undefined) return REPORT
  const endpoint = ENDPOINTS.find((one) => one === name)
  if (endpoint !== undefined) return [rowOf(endpoint)]
  throw new BenchProblem(`There is no endpoint "${name}". There are: ${ENDPOINTS.join(', ')}.`)
}

async function openServer(
  given: string,
  {
    credentials,
    project,
    spider
  }: Pick<Server, 'credentials'> & { project: string | undefined; spider: string | undefined }
): Promise<Server & { missing: string | null }> {
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
    return (await answer.json()) as { projects?: string[]; spiders?: string[]; message?: string }
  }
  const name = project ?? (await ask('listprojects.json')).projects?.[0]
  if (name === undefined) {
    const missing = 'the server has no project: deploy one'
    return { url, credentials, project: 'none', spider: spider ?? 'none', missing }
  }
  const { spiders, message } =
    spider === undefined ? await ask(`listspiders.json?project=${encodeURIComponent(name)}`) : { spiders: [spider] }
  const missing =
    spiders === undefined
      ? `the server cannot list the spiders of ${name}${message === undefined ? '' : ` (${brief(message)})`}`
      : spiders.length === 0
        ? `the project ${name} has no spider: deploy one, or name another project with --project`
        : null
  return { url, credentials, project: name, spider: spiders?.[0] ?? 'none', missing }
}

const brief = (message: string): string => (message.trim().split('\n').at(-1) ?? '').slice(0, 200)
