import { mkdir, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mkdtemp } from 'node:fs/promises'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import DatabaseConstructor from 'better-sqlite3'
import { seedDatabase } from '../../bench/support/seed-database.ts'
import { type Service, startService, TEST_CREDENTIALS } from '../support/service.ts'
import {
  formAround,
  writeArchivedLog,
  writeInflatingProject,
  writeJunk,
  writeLargeEgg,
  writeLargeProject,
  writeManyEntries
} from './hostile-files.ts'
import { readMemory, resetPeak } from './process-memory.ts'

export interface MemoryTarget {
  service: Service
  files: Record<'inflating' | 'largeProject' | 'largeEgg' | 'junk' | 'entries', string>
  /** A job with an archived log of 250 MB. */
  logJobId: string
  logPath: string
}

export interface MemoryCase {
  name: string
  /** Sends the request and reads the whole response. Returns a short description of the response. */
  play(target: MemoryTarget): Promise<string>
}

export interface MemoryFigure {
  name: string
  answer: string
  beforeMb: number
  /** How much more resident memory was used at the peak (`grownMb`) and afterwards (`leftMb`). */
  grownMb: number
  leftMb: number
  seconds: number
}

/** How much a request may make the service's memory grow, at its peak and afterwards. */
export const MAX_GROWTH_MB = 150
export const MAX_LEFT_MB = 120

const HOSTILE_ARGUMENT_BYTES = 1_000_000

export const MEMORY_CASES: MemoryCase[] = [
  {
    name: 'project zip of 12 MB that unpacks to 900 MB, REST',
    play: ({ service, files }) => upload(service, '/api/v1/projects', files.inflating, {}, 'file')
  },
  {
    name: 'the same by addversion.json',
    play: ({ service, files }) =>
      upload(service, '/addversion.json', files.inflating, { project: 'big', version: '1' }, 'egg')
  },
  {
    name: 'project zip of 190 MB, REST',
    play: ({ service, files }) => upload(service, '/api/v1/projects', files.largeProject, { version: '2' }, 'file')
  },
  {
    name: 'project zip of 50,000 entries, REST',
    play: ({ service, files }) => upload(service, '/api/v1/projects', files.entries, { version: '3' }, 'file')
  },
  {
    name: 'egg of 190 MB by addversion.json',
    play: ({ service, files }) =>
      upload(service, '/addversion.json', files.largeEgg, { project: 'big', version: '4' }, 'egg')
  },
  {
    name: 'egg of 190 MB, REST with a key',
    play: ({ service, files }) =>
      upload(service, '/api/v1/projects', files.largeEgg, { project: 'big', version: '5' }, 'file', {
        'idempotency-key': 'attack'
      })
  },
  {
    name: '200 MB that are no archive, REST',
    play: ({ service, files }) => upload(service, '/api/v1/projects', files.junk, {}, 'file')
  },
  {
    name: '200 MB that are no archive, /api/rpc',
    play: ({ service, files }) => upload(service, '/api/rpc/projects/upload', files.junk, { data: RPC_UPLOAD }, '0')
  },
  {
    name: '200 MB to an operation that takes no file',
    play: ({ service, files }) => upload(service, '/api/v1/jobs/cancel', files.junk, {}, 'file')
  },
  {
    name: '200 MB as a field of schedule.json',
    play: ({ service, files }) => upload(service, '/schedule.json', files.junk, { project: 'big' }, 'spider')
  },
  {
    name: '200 MB of JSON to schedule.json',
    play: ({ service, files }) => sendFile(service, '/schedule.json', files.junk, 'application/json')
  },
  {
    name: 'urlencoded body of 200 MB to addversion.json',
    play: ({ service }) =>
      send(service, {
        path: '/addversion.json',
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: repeat('project=big&version=6&egg=', '%50'.repeat(300_000), 220)
      })
  },
  {
    name: 'urlencoded body of 40 million names',
    play: ({ service }) =>
      send(service, {
        path: '/schedule.json',
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: repeat('project=big&spider=s', '&a=b'.repeat(250_000), 160)
      })
  },
  {
    name: 'upload of 190 MB that breaks off',
    async play({ service, files }) {
      const form = await formAround(files.largeEgg, { project: 'big', version: '7' }, 'egg')
      let left = 150
      const body = (async function* () {
        for await (const piece of form.open()) {
          yield piece
          left -= piece.length / 1_000_000
          if (left < 0) throw new Error('gone')
        }
      })()
      const gone = send(service, { path: '/addversion.json', method: 'POST', headers: form.headers, body })
      return gone.catch((error: Error) => error.message)
    }
  },
  {
    name: 'log: the last 4 GB, REST',
    play: ({ service, logJobId }) => get(service, `/api/v1/jobs/${logJobId}/log?offset=-4000000000&limitBytes=4194304`)
  },
  {
    name: 'log: 4 MB from 2^53, REST',
    play: ({ service, logJobId }) =>
      get(service, `/api/v1/jobs/${logJobId}/log?offset=9007199254740991&limitBytes=4194304`)
  },
  {
    name: 'log: whole as events',
    play: ({ service, logJobId }) => get(service, `/api/v1/jobs/${logJobId}/logs`, { 'last-event-id': '1:225000000' })
  },
  {
    name: 'log: the last 100 MB, /logs',
    play: ({ service, logPath }) => get(service, logPath, { range: 'bytes=-100000000' })
  },
  {
    name: 'batch of 60 log reads of 4 MB',
    play: ({ service, logJobId }) => batch(service, 60, logJobId, { offset: 0, limitBytes: 4_194_304 })
  },
  {
    name: 'batch of 200 log reads from the end',
    play: ({ service, logJobId }) => batch(service, 200, logJobId, { offset: -4_000_000_000, limitBytes: 4_194_304 })
  },
  {
    name: 'batch of 1000 log reads of 256 KB',
    play: ({ service, logJobId }) => batch(service, 1_000, logJobId, { offset: 1_000 })
  },
  {
    name: 'list of 500 jobs with arguments of 1 MB',
    play: ({ service }) => get(service, '/api/v1/jobs?limit=500')
  },
  { name: 'listjobs.json of the same', play: ({ service }) => get(service, '/listjobs.json') },
  {
    name: '1000 jobs in one order, arguments of 4 MB',
    play: ({ service }) =>
      send(service, {
        path: '/api/v1/jobs',
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: Readable.from([
          JSON.stringify({
            project: 'p0',
            spiders: Array.from({ length: 1_000 }, () => 's0'),
            args: { text: 'x'.repeat(4_000_000) }
          })
        ])
      })
  }
]

const RPC_UPLOAD = JSON.stringify({ json: { file: null, project: 'big', version: '8' }, maps: [['file']], meta: [] })

/**
 * Measures how much the memory of a freshly started service grows with each case, and how much of that remains after
 * `settleMs`.
 */
export async function measureMemory(
  cases: MemoryCase[],
  options: { entry?: string; settleMs?: number; onFigure?: (figure: MemoryFigure) => void } = {}
): Promise<MemoryFigure[]> {
  const { settleMs = 30_000, onFigure = () => {} } = options
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-memory-'))
  const target = await prepare(directory, options.entry)
  const { service } = target
  const figures: MemoryFigure[] = []
  try {
    for (const { name, play } of cases) {
      // Restarts the service for each case, because a process that has already grown has free memory and would grow
      // less.
      await service.kill()
      await service.start()
      await get(service, '/api/v1/nodes')
      await get(service, '/daemonstatus.json')
      const pid = service.pid()!
      // After its start, the service still reads the eggs of earlier cases. The 60 MB for that are not part of the
      // request.
      const beforeMb = await memoryAtRest(pid)
      resetPeak(pid)
      const startedAtMs = performance.now()
      const answer = await play(target).catch((error: Error) => `failed: ${error.message}`)
      const seconds = (performance.now() - startedAtMs) / 1_000
      const { peakMb } = readMemory(pid)
      const endMs = performance.now() + settleMs
      let { nowMb } = readMemory(pid)
      while (performance.now() < endMs && nowMb - beforeMb > 20) {
        await sleep(500)
        nowMb = readMemory(pid).nowMb
      }
      const figure = { name, answer, beforeMb, grownMb: peakMb - beforeMb, leftMb: nowMb - beforeMb, seconds }
      figures.push(figure)
      onFigure(figure)
    }
  } finally {
    await service.stop()
    await rm(directory, { recursive: true, force: true })
  }
  return figures
}

/** Resolves when memory has been stable for 6 s, or after half a minute. */
async function memoryAtRest(pid: number): Promise<number> {
  const endMs = performance.now() + 30_000
  let { nowMb } = readMemory(pid)
  for (let stillMs = 0; stillMs < 6_000 && performance.now() < endMs; stillMs += 500) {
    await sleep(500)
    const beforeMb = nowMb
    nowMb = readMemory(pid).nowMb
    if (Math.abs(nowMb - beforeMb) > 1) stillMs = 0
  }
  return nowMb
}

async function prepare(directory: string, entry: string | undefined): Promise<MemoryTarget> {
  const dataDirectory = join(directory, 'data')
  await mkdir(join(dataDirectory, 'blobs', 'logs'), { recursive: true, mode: 0o700 })
  await seedDatabase(dataDirectory, { finished: 100, queued: 500, live: 10 })
  const database = new DatabaseConstructor(join(dataDirectory, 'scrapdeck.sqlite'))
  const job = database
    .prepare<[], { id: string; project: string; spider: string }>(
      "SELECT id, project, spider FROM jobs WHERE state = 'ended' LIMIT 1"
    )
    .get()!
  database.exec(`UPDATE attempts SET log_archived = 1 WHERE job_id = '${job.id}';
    UPDATE jobs SET args = json_object('text', printf('%.*c', ${HOSTILE_ARGUMENT_BYTES}, 'x'))`)
  database.close()
  await writeArchivedLog(join(dataDirectory, 'blobs', 'logs', `${job.id}-1.gz`))
  const files = {
    inflating: await writeInflatingProject(directory),
    largeProject: await writeLargeProject(directory),
    largeEgg: await writeLargeEgg(directory),
    junk: await writeJunk(directory),
    entries: await writeManyEntries(directory)
  }
  const service = await startService({ dataDirectory, localSlots: 0, ...(entry === undefined ? {} : { entry }) })
  const logPath = `/logs/${job.project}/${job.spider}/${job.id}.log`
  return { service, files, logJobId: job.id, logPath }
}

interface Sent {
  path: string
  method?: string
  headers?: Record<string, string>
  body?: AsyncIterable<Buffer | string>
}

/**
 * Resolves to a short description of the response. A refusal can close the connection before the response is read.
 */
async function send(service: Service, sent: Sent): Promise<string> {
  try {
    return await sendOnce(service, sent)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EPIPE' || code === 'ECONNRESET') return `closed the connection (${code})`
    throw error
  }
}

async function sendOnce(service: Service, { path, method = 'GET', headers = {}, body }: Sent): Promise<string> {
  const { username, password } = TEST_CREDENTIALS
  const sent = request(service.address + path, { method, headers, auth: `${username}:${password}`, agent: false })
  const answered = once(sent, 'response')
  answered.catch(() => {})
  // A refusal can arrive and close the connection before the whole request is sent.
  const failed = body === undefined ? null : sendBody(sent, body)
  if (body === undefined) sent.end()
  const [response] = await Promise.race([answered, failed ?? new Promise<never>(() => {})])
  let begin = ''
  let length = 0
  for await (const piece of response) {
    if (begin.length < 160) begin += (piece as Buffer).toString('utf8').slice(0, 160)
    length += (piece as Buffer).length
  }
  sent.destroy()
  return `${response.statusCode}, ${length} bytes: ${begin.slice(0, 160).replace(/\s+/g, ' ')}`
}

/** Sends the body. Rejects if producing the body fails. Never resolves. */
async function sendBody(sent: ReturnType<typeof request>, body: AsyncIterable<Buffer | string>): Promise<never> {
  let isGone = false
  const wake = new AbortController()
  sent.on('error', () => (isGone = true))
  sent.on('response', () => wake.abort())
  sent.on('close', () => wake.abort())
  try {
    for await (const piece of body) {
      if (isGone || sent.destroyed) break
      if (!sent.write(piece)) await once(sent, 'drain', { signal: wake.signal }).catch(() => {})
    }
    sent.end()
  } catch (error) {
    sent.destroy()
    throw error
  }
  return new Promise<never>(() => {})
}

const get = (service: Service, path: string, headers: Record<string, string> = {}) => send(service, { path, headers })

async function upload(
  service: Service,
  path: string,
  file: string,
  fields: Record<string, string>,
  name: string,
  headers: Record<string, string> = {}
): Promise<string> {
  const form = await formAround(file, fields, name)
  return send(service, { path, method: 'POST', headers: { ...form.headers, ...headers }, body: form.open() })
}

async function sendFile(service: Service, path: string, file: string, type: string): Promise<string> {
  const form = await formAround(file, {}, 'x')
  return send(service, { path, method: 'POST', headers: { 'content-type': type }, body: form.open() })
}

function batch(service: Service, count: number, jobId: string, params: object): Promise<string> {
  const calls = Array.from({ length: count }, (_, id) => {
    return { jsonrpc: '2.0', id, method: 'logs.read', params: { jobId, ...params } }
  })
  return send(service, {
    path: '/api/v1/jsonrpc',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Readable.from([JSON.stringify(calls)])
  })
}

async function* repeat(begin: string, piece: string, count: number): AsyncGenerator<Buffer> {
  yield Buffer.from(begin)
  const bytes = Buffer.from(piece)
  for (let index = 0; index < count; index++) yield bytes
}

export function printFigures(figures: MemoryFigure[]): void {
  const width = Math.max(...figures.map(({ name }) => name.length))
  console.log(`${'request'.padEnd(width)}  before  growth   left   time  answer`)
  for (const { name, answer, beforeMb, grownMb, leftMb, seconds } of figures) {
    const mb = (value: number) => value.toFixed(0).padStart(6)
    console.log(
      `${name.padEnd(width)}  ${mb(beforeMb)}  ${mb(grownMb)} ${mb(leftMb)}  ${seconds.toFixed(1).padStart(4)}s  ${answer.slice(0, 100)}`
    )
  }
}

export function judgeMemory(figures: MemoryFigure[]): string[] {
  return figures.flatMap(({ name, answer, grownMb, leftMb }) => [
    ...(answer.startsWith('failed') ? [`${name}: ${answer}`] : []),
    ...(grownMb <= MAX_GROWTH_MB ? [] : [`${name}: the service's memory grew by ${grownMb.toFixed(0)} MB`]),
    ...(leftMb <= MAX_LEFT_MB ? [] : [`${name}: ${leftMb.toFixed(0)} MB of memory were not given back`])
  ])
}
