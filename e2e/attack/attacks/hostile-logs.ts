import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { JobId } from '../../../src/shared/contract/index.ts'
import type { Attack, Target } from '../attack.ts'

/** The maximum time between the end of a run on its node and the moment the service knows the outcome. */
const LONGEST_END_MS = 60_000
/** How long each run lasts. During this time, the service reads its log for figures. */
const RUNS_MS = 5_000

type Log = (asked: number) => Buffer

const HEAD = '2026-11-02 12:00:00 [shop]'
const NESTED = `${'['.repeat(60_000)}${']'.repeat(60_000)}`
const lines = (count: number, line: (index: number) => string): Log => {
  const log = Buffer.from(Array.from({ length: count }, (_, index) => `${line(index)}\n`).join(''))
  return () => log
}

const LOGS: Record<string, () => Log> = {
  'whose records are JSON without a text': () => {
    const values = ['{"toString":1}', NESTED, '1e999', '[{"exc_type":{"toString":1},"frames":[null]}]']
    return lines(40, (index) => `{"level":"ERROR","message":${values[index % 4]},"time":${values[index % 4]}}`)
  },
  'whose first record makes all others slow to read': () =>
    lines(2_000, (index) => (index === 0 ? `${'a - '.repeat(9)}INFO Spider opened` : 'a-'.repeat(250))),
  'of a million lines without a record': () => lines(1_000_000, (index) => (index === 0 ? `${HEAD} ERROR: x` : 'x')),
  'with 50,000 kinds of errors': () =>
    lines(
      50_000,
      (index) => `${HEAD} ERROR: ${'abcdefghij'.charAt(index % 10)}${index.toString(2)} '\\${'"x'.repeat(50)}`
    ),
  'of one line of 20 MB': () => {
    const log = Buffer.alloc(20_000_000, "' \u001b]52;c;x")
    return () => log
  },
  'that has another size with each answer': () => {
    const log = Buffer.from(`${HEAD} INFO: x\n`.repeat(100_000))
    return (asked) => log.subarray(0, asked % 2 === 0 ? 1_000 : 3_000_000)
  }
}

async function startNode(log: Log) {
  const running = new Map<string, object>()
  const finished: object[] = []
  let asked = 0
  const ok = (fields: object) => JSON.stringify({ status: 'ok', node_name: 'evil', ...fields })
  const answers: Record<string, (body: URLSearchParams) => string> = {
    'daemonstatus.json': () => ok({ pending: 0, running: running.size, finished: finished.length }),
    'listprojects.json': () => ok({ projects: ['demo'] }),
    'listversions.json': () => ok({ versions: ['1'] }),
    'addversion.json': () => ok({ project: 'demo', version: '1', spiders: 1 }),
    'listjobs.json': () => ok({ pending: [], running: [...running.values()], finished }),
    'schedule.json'(body) {
      const id = body.get('jobid')!
      const started = {
        id,
        project: 'demo',
        spider: body.get('spider')!,
        pid: 1,
        start_time: '2026-11-02 12:00:00.000000'
      }
      running.set(id, started)
      return ok({ jobid: id })
    }
  }
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url!.split('?', 1)[0]!.slice(1)
      if (path.startsWith('logs/')) return sendRange(request, response, log((asked += 1)))
      const body = new URLSearchParams(path === 'schedule.json' ? await text(request) : '')
      request.resume()
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end((answers[path] ?? (() => ok({})))(body))
    })()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    endRuns() {
      for (const run of running.values()) finished.push({ ...run, end_time: '2026-11-02 12:01:00.000000' })
      running.clear()
    },
    stop() {
      server.closeAllConnections()
      server.close()
    }
  }
}

function sendRange({ headers }: IncomingMessage, response: ServerResponse, log: Buffer): void {
  const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? []
  const start = Number(from)
  const end = Math.min(log.length, to === '' ? log.length : Number(to) + 1)
  if (start >= log.length) response.writeHead(416, { 'content-range': `bytes */${log.length}` }).end()
  else {
    const type = { 'content-type': 'text/plain', 'content-range': `bytes ${start}-${end - 1}/${log.length}` }
    response.writeHead(206, type).end(log.subarray(start, end))
  }
}

async function admit({ watched }: Target, log: Log): Promise<string[]> {
  const { client } = watched.service
  const evil = await startNode(log)
  const node = await client.nodes.add({ url: evil.url, slots: 2 })
  const complaints: string[] = []
  try {
    const { jobs } = await client.jobs.run({ project: 'demo', spiders: ['quotes'], nodeId: node.id })
    const { id } = jobs[0]!
    await until(`it did not start`, 20_000, async () => (await client.jobs.get({ id })).job.startedAtMs !== null)
    await pause(RUNS_MS)
    evil.endRuns()
    await until(`it did not end`, LONGEST_END_MS, async () => (await client.jobs.get({ id })).job.state === 'ended')
    for (const query of [{ text: 'x' }, { text: 'x', minLevel: 'CRITICAL' as const }]) {
      let stoppedBy: string | null = null
      for await (const part of await client.logs.searchAll(query)) stoppedBy = part.stoppedBy
      if (stoppedBy !== 'end' && stoppedBy !== 'hits') complaints.push(`a search of all logs ended by ${stoppedBy}`)
    }
    await readAll(watched, id)
  } catch (error) {
    complaints.push((error as Error).message)
  } finally {
    evil.stop()
    await client.nodes.remove({ id: node.id, force: true })
  }
  return complaints
}

async function readAll({ service: { client } }: Target['watched'], jobId: JobId): Promise<void> {
  const asked = [client.jobs.get({ id: jobId }), client.errors.ofJob({ jobId }), client.errors.list({})]
  await Promise.all(asked)
}

async function until(otherwise: string, withinMs: number, isSo: () => Promise<boolean>): Promise<void> {
  for (const startedAtMs = performance.now(); !(await isSo()); await pause(200))
    if (performance.now() - startedAtMs > withinMs) throw new Error(`${otherwise} within ${withinMs / 1_000} s`)
}

export const hostileLogAttacks: Attack[] = Object.entries(LOGS).map(([what, make]) => ({
  name: `a log ${what}`,
  door: 'node',
  isLong: true,
  run: (target) => admit(target, make())
}))
