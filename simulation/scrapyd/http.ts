import { sanitiseVersion } from '../../src/shared/ids.ts'
import type { HttpAnswer, Served, SimulatedScrapyd } from './simulated-scrapyd.ts'
import { logText, type Run } from './run.ts'

export interface HttpRequest {
  method: string
  /** Includes the query, percent-encoded. */
  path: string
  headers: Record<string, string>
  body: string | Uint8Array
}

/** Executes the request when `done` runs. `answer` receives Scrapyd's bytes (scrapyd-protocol.md, 2 and 3). */
export function serve(
  node: SimulatedScrapyd,
  request: HttpRequest,
  nowMs: number,
  wallMs: number,
  answer: (answer: HttpAnswer) => void
): Served {
  const url = new URL(request.path, 'http://node')
  const endpoint = url.pathname.slice(1)
  const send = (made: HttpAnswer) => {
    const dated = {
      ...made.headers,
      date: new Date(wallMs + node.clockOffsetMs).toUTCString(),
      server: 'TwistedWeb/22.4.0'
    }
    answer({ ...made, headers: dated })
  }
  const atOnce = (made: HttpAnswer): Served => ({ blocksMs: 0, done: () => send(made) })
  if (request.method === 'OPTIONS') {
    return atOnce(node.isModern ? plain(204, '') : failure(node, 'Expected one of'))
  }
  if (endpoint.startsWith('logs/') || endpoint.startsWith('items/'))
    return atOnce(logAnswer(node, endpoint, request, nowMs))
  const parameters = request.method === 'POST' ? bodyParameters(request) : url.searchParams
  const say = (fields: object) => success(node, fields)
  const required = (name: string): string => {
    const value = parameters.get(name)
    if (value === null) throw new Refusal(node.isModern ? `'${name}' parameter is required` : `'${name}'`)
    return value
  }
  try {
    switch (endpoint) {
      case 'daemonstatus.json':
        return atOnce(
          say({ pending: node.knownPending().length, running: node.running.length, finished: node.finished.length })
        )
      case 'listjobs.json':
        return atOnce(say(listJobs(node, node.version === '1.2' ? required('project') : parameters.get('project'))))
      case 'listprojects.json':
        return atOnce(say({ projects: [...node.eggs.keys()] }))
      case 'listversions.json':
        return atOnce(say({ versions: [...(node.eggs.get(required('project')) ?? [])].sort() }))
      case 'status.json': {
        if (!node.isModern) return atOnce(plain(404, '<html>No Such Resource</html>'))
        return atOnce(say({ currstate: stateOf(node, parameters.get('project'), required('job')) }))
      }
      case 'listspiders.json': {
        const [project, version] = [required('project'), parameters.get('_version') ?? '']
        const spiders = spidersOf(node, project, version)
        return { blocksMs: node.listingMs(project, version, false), done: () => send(say({ spiders })) }
      }
      case 'schedule.json':
        return schedule(node, parameters, required, send)
      case 'cancel.json':
        return atOnce(say({ prevstate: cancel(node, required('project'), required('job'), parameters.get('signal')) }))
      case 'addversion.json': {
        const [project, version] = [required('project'), sanitiseVersion(required('version'))]
        const versions = node.eggs.get(project) ?? new Set()
        node.eggs.set(project, versions.add(version))
        const spiders = SPIDERS[project]?.length ?? 1
        return {
          blocksMs: node.listingMs(project, version, true),
          done: () => send(say({ project, version, spiders }))
        }
      }
      case 'delversion.json': {
        const [project, version] = [required('project'), sanitiseVersion(required('version'))]
        if (!removeEgg(node, project, version)) {
          const words = node.isModern
            ? `version '${version}' not found`
            : `[Errno 2] No such file or directory: 'eggs/${project}/${version}.egg'`
          throw new Refusal(words)
        }
        return atOnce(say({}))
      }
      case 'delproject.json':
        if (!node.eggs.delete(required('project'))) throw new Refusal(unknownProject(node, required('project')))
        return atOnce(say({}))
      default:
        return atOnce(plain(404, '<html>No Such Resource</html>'))
    }
  } catch (error) {
    if (error instanceof Refusal) return atOnce(failure(node, error.message))
    throw error
  }
}

export const SPIDERS: Record<string, string[]> = { shop: ['prices', 'stock'], blog: ['posts'], news: ['front'] }

class Refusal extends Error {}

/** Removes an egg. The simulation also calls this directly, to delete an egg without Scrapdeck. */
export function removeEgg(node: SimulatedScrapyd, project: string, version: string): boolean {
  const versions = node.eggs.get(project)
  if (versions?.delete(version) !== true) return false
  if (versions.size === 0) node.eggs.delete(project)
  node.forget(project, version)
  return true
}

function schedule(
  node: SimulatedScrapyd,
  parameters: URLSearchParams,
  required: (name: string) => string,
  send: (answer: HttpAnswer) => void
): Served {
  const [project, spider] = [required('project'), required('spider')]
  const version = sanitiseVersion(parameters.get('_version') ?? '')
  const spiders = spidersOf(node, project, version)
  if (!spiders.includes(spider)) throw new Refusal(`spider '${spider}' not found`)
  const settings: Record<string, string> = {}
  const args: Record<string, string> = {}
  for (const [name, value] of parameters) {
    if (name === 'setting') {
      const at = value.indexOf('=')
      settings[value.slice(0, at)] = value.slice(at + 1)
    } else if (!['project', 'spider', '_version', 'jobid', 'priority'].includes(name)) args[name] = value
  }
  const jobid = required('jobid')
  const priority = Number(parameters.get('priority') ?? 0)
  return {
    blocksMs: node.listingMs(project, version, false),
    done: () => {
      node.enqueue({ project, spider, version, jobid, settings, args, priority, isStranger: false })
      send(success(node, { jobid }))
    }
  }
}

function spidersOf(node: SimulatedScrapyd, project: string, version: string): string[] {
  const versions = node.eggs.get(project)
  if (versions === undefined) {
    throw new Refusal(
      node.isModern ? `project '${project}' not found` : 'Scrapy 2.8.0 - no active project\n\nUnknown command: list\n'
    )
  }
  if (version !== '' && !versions.has(sanitiseVersion(version))) {
    throw new Refusal(
      node.isModern
        ? `version '${version}' not found`
        : `Traceback (most recent call last):\n  File "x"\nFileNotFoundError: [Errno 2] No such file or directory: 'eggs/${project}/${version}.egg'`
    )
  }
  return SPIDERS[project] ?? ['only']
}

/**
 * Cancels all queued jobs with this id and signals all processes with it. Scrapyd 1.2 matches the id in any project.
 */
function cancel(
  node: SimulatedScrapyd,
  project: string,
  jobid: string,
  signal: string | null
): 'pending' | 'running' | null {
  if (!node.eggs.has(project)) throw new Refusal(unknownProject(node, project))
  let before: 'pending' | 'running' | null = null
  const isMeant = (run: Run) => run.jobid === jobid && (node.version === '1.2' || run.project === project)
  for (const run of node.queue.filter((one) => one.jobid === jobid && one.project === project)) {
    node.queue.splice(node.queue.indexOf(run), 1)
    run.state = 'over'
    before = 'pending'
  }
  for (const run of node.running.filter(isMeant)) {
    node.signal(run, signal ?? (node.isModern ? 'INT' : 'TERM'))
    before = 'running'
  }
  return before
}

function stateOf(node: SimulatedScrapyd, project: string | null, jobid: string): string | null {
  if (project !== null && !node.eggs.has(project)) throw new Refusal(unknownProject(node, project))
  const isMeant = (run: Run) => run.jobid === jobid && (project === null || run.project === project)
  if (node.knownPending().some(isMeant)) return 'pending'
  if (node.running.some(isMeant)) return 'running'
  return node.finished.some(isMeant) ? 'finished' : null
}

function listJobs(node: SimulatedScrapyd, project: string | null): object {
  if (project !== null && !node.eggs.has(project)) throw new Refusal(unknownProject(node, project))
  const ofProject = (run: Run) => project === null || run.project === project
  const finished = node.finished.filter(ofProject).map((run) => listed(node, run))
  return {
    pending: node
      .knownPending()
      .filter(ofProject)
      .map((run) => listed(node, run)),
    running: node.running.filter(ofProject).map((run) => listed(node, run)),
    finished: node.isModern ? finished.reverse() : finished
  }
}

function listed(node: SimulatedScrapyd, run: Run): object {
  const { version, isModern } = node
  const fields: Record<string, unknown> = { id: run.jobid, spider: run.spider }
  if (version !== '1.2') fields['project'] = run.project
  if (run.state === 'pending') {
    return isModern ? { ...fields, version: run.version, settings: run.settings, args: run.args } : fields
  }
  fields['start_time'] = localTime(node, run.startedAtMs!)
  if (run.state === 'running') fields['pid'] = run.pid
  else fields['end_time'] = localTime(node, run.endedAtMs!)
  if (isModern || (version === '1.4' && run.state === 'over')) {
    fields['log_url'] =
      isModern && run.log?.isGone !== false ? null : `/logs/${run.project}/${run.spider}/${run.jobid}.log`
    fields['items_url'] = isModern ? null : `/items/${run.project}/${run.spider}/${run.jobid}.jl`
  }
  return fields
}

/** The time by the node's own clock, in its own zone and without an offset. */
function localTime(node: SimulatedScrapyd, atMs: number): string {
  const ms = 1_800_000_000_000 + atMs + node.clockOffsetMs + node.options.zoneMinutes * 60_000
  return new Date(Math.floor(ms)).toISOString().replace('T', ' ').replace('Z', '123')
}

/** Twisted's static files: 206 for a range, 416 for a range beyond the end, 500 for a suffix longer than the file. */
function logAnswer(node: SimulatedScrapyd, path: string, request: HttpRequest, nowMs: number): HttpAnswer {
  const [tree, project = '', spider = '', file = ''] = path.split('/').map(decodeURIComponent)
  const run = tree === 'logs' ? node.logOf(project, spider, file.replace(/\.log$/, '')) : null
  if (node.logsForbidden || run?.log?.isForbidden === true) return plain(403, '<html>Forbidden</html>')
  if (run === null || run.log!.isGone) return plain(404, '<html>No Such Resource</html>')
  const bytes = Buffer.from(logText(run, nowMs))
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers['range'] ?? '')
  const headers = { 'content-type': 'text/plain', 'accept-ranges': 'bytes' }
  if (range === null)
    return { status: 200, headers: { ...headers, 'content-length': String(bytes.length) }, body: bytes }
  const start = Number(range[1])
  if (start >= bytes.length) {
    return { status: 416, headers: { 'content-range': `bytes */${bytes.length}` }, body: new Uint8Array(0) }
  }
  const piece = bytes.subarray(start, range[2] ? Number(range[2]) + 1 : bytes.length)
  const contentRange = `bytes ${start}-${start + piece.length - 1}/${bytes.length}`
  return { status: 206, headers: { ...headers, 'content-range': contentRange }, body: piece }
}

function unknownProject(node: SimulatedScrapyd, project: string): string {
  return node.isModern ? `project '${project}' not found` : `'${project}'`
}

function success(node: SimulatedScrapyd, fields: object): HttpAnswer {
  const envelope = { status: 'ok', node_name: node.name }
  return json(node.isModern ? { ...fields, ...envelope } : { ...envelope, ...fields })
}

function failure(node: SimulatedScrapyd, message: string): HttpAnswer {
  return json({ node_name: node.name, status: 'error', message })
}

function json(fields: object): HttpAnswer {
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(`${JSON.stringify(fields)}\n`)
  }
}

export function plain(status: number, text: string): HttpAnswer {
  return { status, headers: { 'content-type': 'text/html' }, body: Buffer.from(text) }
}

function bodyParameters(request: HttpRequest): URLSearchParams {
  const type = request.headers['content-type'] ?? ''
  const text = typeof request.body === 'string' ? request.body : Buffer.from(request.body).toString('latin1')
  if (!type.startsWith('multipart/form-data')) return new URLSearchParams(text)
  const found = [...text.matchAll(/name="(project|version)"\r\n\r\n([^\r]*)/g)]
  return new URLSearchParams(found.map(([, name, value]): [string, string] => [name!, value!]))
}
