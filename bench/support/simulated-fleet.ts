/**
 * Many Scrapyds (1.6) in one process, over real HTTP on one port: node `n7` is at `/n7/`. Jobs take a slot at once, run for
 * `jobMs` and leave a log with closing stats. Run as a process of its own by the benches, so that its work is not
 * counted as the engine's. Prints its port, then one line `POST <epoch ms, fractional> <jobid>` for each schedule.json.
 *
 *   node simulated-fleet.ts --nodes 100 --slots 2 --job-ms 1000 [--report]
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '3' },
    slots: { type: 'string', default: '4' },
    'job-ms': { type: 'string', default: '1000' },
    report: { type: 'boolean', default: false }
  }
})
const slots = Number(values.slots)
const jobMs = Number(values['job-ms'])

interface Run {
  id: string
  project: string
  spider: string
  pid: number
  startTime: string
  endTime: string | null
}

interface SimulatedNode {
  eggs: Map<string, Set<string>>
  pending: Run[]
  running: Run[]
  finished: Run[]
}

const nodes = new Map(
  Array.from({ length: Number(values.nodes) }, (_, index): [string, SimulatedNode] => [
    `n${index}`,
    { eggs: new Map(), pending: [], running: [], finished: [] }
  ])
)
let nextPid = 1000

const server = createServer((request, response) => void answer(request, response))
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
// As Twisted does; Node's own five seconds would close connections between two looks.
server.keepAliveTimeout = 60_000
process.on('disconnect', () => process.exit())

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const arrivedAtMs = performance.timeOrigin + performance.now()
  const url = new URL(request.url!, 'http://localhost')
  const [, name = '', ...rest] = url.pathname.split('/')
  const node = nodes.get(name)
  if (node === undefined) return void response.writeHead(404).end()
  if (request.method === 'OPTIONS') return void response.writeHead(204).end()
  const verb = rest.join('/')
  if (verb.startsWith('logs/')) return sendLog(request, response)
  const body = request.method === 'POST' ? await readBody(request) : ''
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true
  const parameters = request.method === 'POST' && isForm ? new URLSearchParams(body) : url.searchParams
  if (verb === 'schedule.json' && values.report) {
    process.stdout.write(`POST ${arrivedAtMs} ${parameters.get('jobid')}\n`)
  }
  const fields = act(node, verb, parameters, body)
  if (fields === null) return void response.writeHead(404).end()
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ ...fields, status: 'ok', node_name: name }))
}

function act(node: SimulatedNode, verb: string, parameters: URLSearchParams, body: string): object | null {
  const project = parameters.get('project') ?? ''
  switch (verb) {
    case 'daemonstatus.json':
      return { pending: node.pending.length, running: node.running.length, finished: node.finished.length }
    case 'listjobs.json':
      return {
        pending: node.pending.map(listed),
        running: node.running.map(listed),
        finished: node.finished.map(listed)
      }
    case 'schedule.json': {
      const run = {
        id: parameters.get('jobid')!,
        project,
        spider: parameters.get('spider')!,
        pid: 0,
        startTime: '',
        endTime: null
      }
      node.pending.push(run)
      startPending(node)
      return { jobid: run.id }
    }
    case 'cancel.json':
      return { prevstate: null }
    case 'listprojects.json':
      return { projects: [...node.eggs.keys()] }
    case 'listversions.json':
      return { versions: [...(node.eggs.get(project) ?? [])] }
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

function startPending(node: SimulatedNode): void {
  while (node.running.length < slots && node.pending.length > 0) {
    const run = node.pending.shift()!
    run.pid = nextPid++
    run.startTime = localTime()
    node.running.push(run)
    setTimeout(() => end(node, run), jobMs)
  }
}

function end(node: SimulatedNode, run: Run): void {
  node.running.splice(node.running.indexOf(run), 1)
  run.endTime = localTime()
  node.finished.unshift(run)
  // Scrapyd keeps 100 finished jobs (finished_to_keep).
  node.finished.length = Math.min(node.finished.length, 100)
  startPending(node)
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

function sendLog(request: IncomingMessage, response: ServerResponse): void {
  const range = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/.exec(request.headers.range ?? '')
  if (range === null) return void response.writeHead(200, { 'content-length': LOG.length }).end(LOG)
  const start = range[3] === undefined ? Number(range[1]) : Math.max(0, LOG.length - Number(range[3]))
  if (start >= LOG.length) return void response.writeHead(416, { 'content-range': `bytes */${LOG.length}` }).end()
  const piece = LOG.subarray(start, range[2] ? Number(range[2]) + 1 : LOG.length)
  response.writeHead(206, { 'content-range': `bytes ${start}-${start + piece.length - 1}/${LOG.length}` }).end(piece)
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('latin1')
}

function localTime(): string {
  return new Date().toISOString().replace('T', ' ').replace('Z', '000')
}
