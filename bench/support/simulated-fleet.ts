/**
 * Many Scrapyds (1.6) in one process, over real HTTP on one port: node `n7` is at `/n7/`. Prints its port, then a
 * line `POST <epoch ms, fractional> <jobid>` for each schedule.json (`--report`), and `ENDED <epoch ms> <jobid>`
 * for each run that ends (`--report-ends`).
 *
 * node simulated-fleet.ts --nodes 100 --slots 4,4,8 --job-ms 1000-5000 --poll-ms 5000 --projects shop,news
 *
 * `--slots` are assigned to the nodes in rotation. A run takes `--job-ms` unless its argument `ms` says otherwise.
 * With `--poll-ms`, a node fills a free slot at its next poll, as Scrapyd does; by default immediately. Each node
 * has version 1 of `--projects`. With `--log-bytes-per-s`, a running spider logs at this rate; by default its log
 * is complete immediately.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { logLines } from './log-lines.ts'

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '3' },
    slots: { type: 'string', default: '4' },
    'job-ms': { type: 'string', default: '1000' },
    'poll-ms': { type: 'string', default: '0' },
    projects: { type: 'string', default: '' },
    'log-bytes-per-s': { type: 'string', default: '0' },
    report: { type: 'boolean', default: false },
    'report-ends': { type: 'boolean', default: false }
  }
})
const slotsInTurn = values.slots.split(',').map(Number)
const [jobMsMin = 0, jobMsMax = jobMsMin] = values['job-ms'].split('-').map(Number)
const pollMs = Number(values['poll-ms'])
const logBytesPerMs = Number(values['log-bytes-per-s']) / 1_000
const projects = values.projects === '' ? [] : values.projects.split(',')
/** The number of finished jobs that a node lists: Scrapyd's default (finished_to_keep). */
const FINISHED_KEPT = 100

interface Run {
  id: string
  project: string
  spider: string
  ms: number | null
  pid: number
  startTime: string
  endTime: string | null
  log: GrowingLog | null
}

interface GrowingLog {
  written: Buffer
  nextLine: number
  nextAtMs: number
}

interface SimulatedNode {
  name: string
  slots: number
  eggs: Map<string, Set<string>>
  pending: Run[]
  running: Map<string, Run>
  finished: Run[]
}

const nodes = new Map<string, SimulatedNode>()
for (let index = 0; index < Number(values.nodes); index += 1) {
  const name = `n${index}`
  const node: SimulatedNode = {
    name,
    slots: slotsInTurn[index % slotsInTurn.length]!,
    eggs: new Map(projects.map((project) => [project, new Set(['1'])])),
    pending: [],
    running: new Map(),
    finished: []
  }
  nodes.set(name, node)
  if (pollMs > 0) setTimeout(() => setInterval(() => startPending(node), pollMs), Math.random() * pollMs)
}
let nextPid = 1000

const server = createServer((request, response) => {
  if (request.method !== 'POST') return answer(request, response, '')
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => answer(request, response, Buffer.concat(pieces).toString('latin1')))
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
// Like Twisted; Node's default of five seconds would close connections between two polls.
server.keepAliveTimeout = 60_000
process.on('disconnect', () => process.exit())

function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
  const url = request.url!
  const nameEnd = url.indexOf('/', 1)
  const node = nodes.get(url.slice(1, nameEnd))
  if (node === undefined) return void response.writeHead(404).end()
  if (request.method === 'OPTIONS') return void response.writeHead(204).end()
  const queryStart = url.indexOf('?', nameEnd)
  const verb = url.slice(nameEnd + 1, queryStart < 0 ? undefined : queryStart)
  if (verb.startsWith('logs/')) return sendLog(logAt(node, verb), request, response)
  const fields = act(node, verb, queryStart < 0 ? '' : url.slice(queryStart + 1), body)
  if (fields === null) return void response.writeHead(404).end()
  const text = JSON.stringify({ ...fields, status: 'ok', node_name: node.name })
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text)
}

function act(node: SimulatedNode, verb: string, query: string, body: string): object | null {
  switch (verb) {
    case 'daemonstatus.json':
      return { pending: node.pending.length, running: node.running.size, finished: node.finished.length }
    case 'listjobs.json':
      return {
        pending: node.pending.map(listed),
        running: [...node.running.values()].map(listed),
        finished: node.finished.toReversed().map(listed)
      }
    case 'schedule.json':
      return schedule(node, new URLSearchParams(body))
    case 'cancel.json':
      return { prevstate: null }
    case 'listprojects.json':
      return { projects: [...node.eggs.keys()] }
    case 'listversions.json':
      return { versions: [...(node.eggs.get(new URLSearchParams(query).get('project') ?? '') ?? [])] }
    case 'listspiders.json':
      return { spiders: ['noop'] }
    case 'addversion.json': {
      const [name, version] = ['project', 'version'].map(
        (part) => new RegExp(`name="${part}"\\r\\n\\r\\n([^\\r]*)`).exec(body)?.[1] ?? ''
      )
      node.eggs.set(name!, (node.eggs.get(name!) ?? new Set()).add(version!))
      return { project: name, version, spiders: 1 }
    }
    default:
      return null
  }
}

function schedule(node: SimulatedNode, parameters: URLSearchParams): object {
  const id = parameters.get('jobid')!
  if (values.report) process.stdout.write(`POST ${nowMs()} ${id}\n`)
  const ms = parameters.get('ms')
  node.pending.push({
    id,
    project: parameters.get('project')!,
    spider: parameters.get('spider')!,
    ms: ms === null ? null : Number(ms),
    pid: 0,
    startTime: '',
    endTime: null,
    log: null
  })
  if (pollMs === 0) startPending(node)
  return { jobid: id }
}

function startPending(node: SimulatedNode): void {
  while (node.running.size < node.slots && node.pending.length > 0) {
    const run = node.pending.shift()!
    run.pid = nextPid++
    run.startTime = localTime()
    if (logBytesPerMs > 0) run.log = { written: Buffer.alloc(0), nextLine: run.pid % LINES.length, nextAtMs: nowMs() }
    node.running.set(run.id, run)
    setTimeout(() => end(node, run), run.ms ?? jobMsMin + Math.random() * (jobMsMax - jobMsMin))
  }
}

function end(node: SimulatedNode, run: Run): void {
  node.running.delete(run.id)
  run.endTime = localTime()
  node.finished.push(run)
  if (node.finished.length > FINISHED_KEPT) node.finished.shift()
  if (values['report-ends']) process.stdout.write(`ENDED ${nowMs()} ${run.id}\n`)
  if (pollMs === 0) startPending(node)
}

function listed(run: Run): object {
  return {
    id: run.id,
    project: run.project,
    spider: run.spider,
    pid: run.pid,
    start_time: run.startTime,
    end_time: run.endTime,
    log_url: null,
    items_url: null
  }
}

const LOG = Buffer.from(
  `${'2026-01-01 00:00:00 [scrapy.core.engine] DEBUG: Crawled (200) <GET https://example.org/> (referer: None)\n'.repeat(50)}` +
    `2026-01-01 00:00:01 [scrapy.core.engine] INFO: Closing spider (finished)\n` +
    `2026-01-01 00:00:01 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n` +
    `{'elapsed_time_seconds': 1.0,\n 'finish_reason': 'finished',\n 'item_scraped_count': 10}\n` +
    `2026-01-01 00:00:01 [scrapy.core.engine] INFO: Spider closed (finished)\n`
)

/**
 * The lines of all logs. Each run's log starts at a different line. A line without a time belongs to the line before
 * it.
 */
const LINES = logBytesPerMs === 0 ? [] : logLines({ bytes: 1_000_000, seed: 1 }).split(/(?<=\n)(?=\d{4}-)/)

function logAt(node: SimulatedNode, path: string): Buffer {
  const log = node.running.get(/([^/]*)\.log$/.exec(path)?.[1] ?? '')?.log
  if (log == null) return LOG
  const written: Buffer[] = [log.written]
  for (const untilMs = nowMs(); log.nextAtMs <= untilMs; log.nextLine = (log.nextLine + 1) % LINES.length) {
    const time = new Date(log.nextAtMs).toISOString().slice(0, 19).replace('T', ' ')
    const line = time + LINES[log.nextLine]!.slice(time.length)
    written.push(Buffer.from(line))
    log.nextAtMs += line.length / logBytesPerMs
  }
  return (log.written = Buffer.concat(written))
}

function sendLog(log: Buffer, request: IncomingMessage, response: ServerResponse): void {
  const range = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/.exec(request.headers.range ?? '')
  if (range === null) return void response.writeHead(200, { 'content-length': log.length }).end(log)
  const start = range[3] === undefined ? Number(range[1]) : Math.max(0, log.length - Number(range[3]))
  if (start >= log.length) return void response.writeHead(416, { 'content-range': `bytes */${log.length}` }).end()
  const piece = log.subarray(start, range[2] ? Number(range[2]) + 1 : log.length)
  response.writeHead(206, { 'content-range': `bytes ${start}-${start + piece.length - 1}/${log.length}` }).end(piece)
}

function nowMs(): number {
  return performance.timeOrigin + performance.now()
}

function localTime(): string {
  return new Date().toISOString().replace('T', ' ').replace('Z', '000')
}
