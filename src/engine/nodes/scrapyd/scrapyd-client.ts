import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { sanitiseVersion } from '../../../shared/ids.ts'
import { RESERVED_ARGUMENTS } from '../../../shared/reserved-arguments.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import {
  type DaemonStatus,
  type NodeClient,
  NodeError,
  type ScheduleRequest,
  type SeenJob,
  type Snapshot
} from '../node-client.ts'
import {
  AddVersionAnswer,
  CancelAnswer,
  readDaemonStatus,
  DoneAnswer,
  type ListedJob,
  ListJobsAnswer,
  ListJobsOfProjectAnswer,
  ProjectsAnswer,
  ScheduleAnswer,
  SpidersAnswer,
  VersionsAnswer
} from './answers.ts'
import { type AnswerHead, type Connection, collectBody, createConnection } from './connection.ts'
import type { NodeAddressParts } from './transport.ts'
import { type AskLog, readLogRange } from './log-range.ts'
import { probeVersion } from './version.ts'
import { classifyRefusal, needsProject, storedNothing } from './refusals.ts'

/** Time limits cover a whole exchange. The long ones are calls during which Scrapyd imports a project and answers nobody. */
export interface ClientLimits {
  daemonStatusMs: number
  listJobsMs: number
  scheduleMs: number
  eggMs: number
  logMs: number
  otherMs: number
  daemonStatusBytes: number
  listJobsBytes: number
  otherBytes: number
}

const DEFAULT_LIMITS: ClientLimits = {
  daemonStatusMs: 5000,
  listJobsMs: 15_000,
  scheduleMs: 60_000,
  eggMs: 120_000,
  logMs: 15_000,
  otherMs: 15_000,
  daemonStatusBytes: 64_000,
  listJobsBytes: 32_000_000,
  otherBytes: 1_000_000
}

// Linux refuses to start a process with one argument over 128 KiB; Scrapyd then loses the job and the slot for ever.
const MAX_ARGUMENT_BYTES = 131_000
const MAX_ARGUMENTS_BYTES = 1_000_000

export interface ScrapydClientOptions extends NodeAddressParts {
  /** What operators call the node. */
  name: string
  clock: Clock
  logger: Logger
  limits?: Partial<ClientLimits>
  /** The transport; tests and the simulation give one of their own. */
  connect?: typeof createConnection | undefined
}

/** Speaks to one Scrapyd of any version from 1.2 to 1.6 (scrapyd-protocol.md). Every failure is a NodeError. */
export function createScrapydClient(options: ScrapydClientOptions): NodeClient {
  const { clock, logger } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const { connect = createConnection } = options
  const connection = connect({ address: options, name: options.name, clock })
  const other = { timeoutMs: limits.otherMs, limitBytes: limits.otherBytes }
  const egg = { timeoutMs: limits.eggMs, limitBytes: limits.otherBytes }

  async function get<T>(
    path: string,
    query: [string, string][],
    schema: z.ZodType<T>,
    limit: Limit,
    signal?: AbortSignal
  ) {
    const search = query.length > 0 ? `?${new URLSearchParams(query)}` : ''
    return (await askJson(connection, { method: 'GET', path: path + search, schema, ...limit }, signal)).answer
  }

  async function post<T>(
    path: string,
    form: [string, string][],
    schema: z.ZodType<T>,
    limit: Limit,
    signal?: AbortSignal
  ) {
    // URLSearchParams encodes `;`, which Scrapyd would take for a separator.
    const body = new URLSearchParams(form).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return (await askJson(connection, { method: 'POST', path, headers, body, schema, ...limit }, signal)).answer
  }

  function refuse(problem: string): NodeError {
    return connection.fail('refused', `was not asked: ${problem}`, 'no')
  }

  /** An empty name, `.` or a path means another directory to Scrapyd: delproject of one deletes every egg. */
  function checkName(noun: string, value: string): void {
    if (value === '' || value === '.' || value === '..' || /[/\\\0]/.test(value) || !value.isWellFormed()) {
      throw refuse(`${JSON.stringify(value.slice(0, 100))} cannot be the name of a ${noun}.`)
    }
  }

  function checkSchedule(request: ScheduleRequest): void {
    checkName('project', request.project)
    checkName('spider', request.spider)
    checkName('version', request.version)
    // One that cannot name a file costs the node a slot for ever (scrapyd-protocol.md, 6.4).
    checkName('job', request.jobid)
    let sizeBytes = 0
    for (const [key, value] of [...Object.entries(request.settings), ...Object.entries(request.args)]) {
      const pairBytes = Buffer.byteLength(key) + Buffer.byteLength(value) + 1
      sizeBytes += pairBytes
      if (key === '' || /[=\0]/.test(key) || value.includes('\0') || !`${key}${value}`.isWellFormed()) {
        throw refuse(`the setting or argument ${JSON.stringify(key.slice(0, 100))} cannot be given to a process.`)
      }
      if (pairBytes > MAX_ARGUMENT_BYTES || sizeBytes > MAX_ARGUMENTS_BYTES) {
        throw refuse(
          `the setting or argument ${JSON.stringify(key.slice(0, 100))} is too large to start a process with.`
        )
      }
    }
    const reserved = Object.keys(request.args).find((key) => RESERVED_ARGUMENTS.has(key))
    if (reserved !== undefined) throw refuse(`Scrapyd uses the argument name ${reserved} itself. Rename the argument.`)
  }

  async function listJobsOfEachProject(signal?: AbortSignal): Promise<ListJobsAnswer> {
    const whole: ListJobsAnswer = { pending: [], running: [], finished: [] }
    const limit = { timeoutMs: limits.listJobsMs, limitBytes: limits.listJobsBytes }
    const { projects } = await get('listprojects.json', [], ProjectsAnswer, other, signal)
    for (const project of projects) {
      const answer = await get('listjobs.json', [['project', project]], ListJobsOfProjectAnswer, limit, signal)
      for (const list of ['pending', 'running', 'finished'] as const) {
        for (const job of answer[list]) whole[list].push({ ...job, project })
      }
    }
    return whole
  }

  async function readFile(
    { tree, extension, noun }: { tree: string; extension: string; noun: string },
    ...[run, range, signal]: Parameters<NodeClient['readLog']>
  ) {
    for (const [name, value] of Object.entries({ project: run.project, spider: run.spider, job: run.jobid })) {
      checkName(name, value)
    }
    const path = [tree, run.project, run.spider, `${run.jobid}.${extension}`].map(encodeURIComponent).join('/')
    const ask: AskLog = (rangeHeader, receive) =>
      connection.send(
        { method: 'GET', path, headers: { range: rangeHeader }, timeoutMs: limits.logMs, receive },
        signal
      )
    return readLogRange(ask, range, (head) => statusError(connection, head, noun))
  }

  /** null: the node would not tell. */
  async function hasVersion(project: string, version: string, signal?: AbortSignal): Promise<boolean | null> {
    try {
      return (await client.listVersions(project, signal)).includes(sanitiseVersion(version))
    } catch (error) {
      if (error instanceof NodeError) return null
      throw error
    }
  }

  /**
   * Scrapyd keeps an egg that it refused, and it would be the newest version (scrapyd-protocol.md, 3.4). Never deletes what was there
   * before under this name. Returns what became of it, in words.
   */
  async function takeBack(
    project: string,
    version: string,
    wasThere: boolean | null,
    signal?: AbortSignal
  ): Promise<string> {
    if (wasThere === true) return `It now stands where the node had a version ${version} before: send a mended one.`
    if (wasThere === null) return `Whether the node keeps it is not known: look for version ${version} there.`
    try {
      await client.deleteVersion(project, version, signal)
      return 'It was taken back from the node.'
    } catch (error) {
      // It is as good as deleted where it was never kept.
      const isGone = error instanceof NodeError && classifyRefusal(error.nodeMessage ?? '').startsWith('unknown_')
      if (isGone) return 'The node kept nothing of it.'
      logger.warn(
        { node: options.name, project, version, error },
        'a refused egg could not be taken back from the node'
      )
      return `It could not be taken back: delete version ${version} there, or the node may take it for the latest.`
    }
  }

  const client: NodeClient = {
    async daemonStatus(signal) {
      const askedAtMs = clock.nowMs()
      const limit = { timeoutMs: limits.daemonStatusMs, limitBytes: limits.daemonStatusBytes }
      const path = 'daemonstatus.json'
      const { answer, head } = await askJson(connection, { method: 'GET', path, schema: BY_HAND, ...limit }, signal)
      return {
        pending: answer.pending,
        running: answer.running,
        finished: answer.finished,
        nodeName: answer.node_name ?? null,
        ...dateOf(head, askedAtMs, clock.nowMs())
      }
    },

    async listJobs(signal): Promise<Snapshot> {
      const begunAtMs = clock.monotonicMs()
      const limit = { timeoutMs: limits.listJobsMs, limitBytes: limits.listJobsBytes }
      let answer: ListJobsAnswer
      try {
        answer = await get('listjobs.json', [], ListJobsAnswer, limit, signal)
      } catch (error) {
        if (!(error instanceof NodeError) || !needsProject(error.nodeMessage ?? '')) throw error
        answer = await listJobsOfEachProject(signal)
      }
      return {
        begunAtMs,
        pending: answer.pending.map(seenJob),
        running: answer.running.map(seenJob),
        finished: answer.finished.map(seenJob)
      }
    },

    async schedule(request, signal) {
      checkSchedule(request)
      const form: [string, string][] = [
        ['project', request.project],
        ['spider', request.spider],
        ['_version', request.version],
        ['jobid', request.jobid],
        ['priority', String(request.priority)],
        ...Object.entries(request.settings).map(([key, value]): [string, string] => ['setting', `${key}=${value}`]),
        ...Object.entries(request.args)
      ]
      const limit = { timeoutMs: limits.scheduleMs, limitBytes: limits.otherBytes }
      return { jobid: (await post('schedule.json', form, ScheduleAnswer, limit, signal)).jobid }
    },

    async cancel(request, signal) {
      checkName('project', request.project)
      const form: [string, string][] = [
        ['project', request.project],
        ['job', request.jobid],
        ['signal', String(request.signal)]
      ]
      return { wasState: (await post('cancel.json', form, CancelAnswer, other, signal)).prevstate }
    },

    probeVersion(signal) {
      const limit = { timeoutMs: limits.listJobsMs, limitBytes: limits.listJobsBytes }
      return probeVersion(connection, () => get('listjobs.json', [], ListJobsAnswer, limit, signal), signal)
    },

    async listProjects(signal) {
      return (await get('listprojects.json', [], ProjectsAnswer, other, signal)).projects
    },

    async listVersions(project, signal) {
      checkName('project', project)
      return (await get('listversions.json', [['project', project]], VersionsAnswer, egg, signal)).versions
    },

    async listSpiders(project, version, signal) {
      checkName('project', project)
      checkName('version', version)
      const query: [string, string][] = [
        ['project', project],
        ['_version', version]
      ]
      return (await get('listspiders.json', query, SpidersAnswer, egg, signal)).spiders
    },

    async addVersion(project, version, content, signal) {
      checkName('project', project)
      checkName('version', version)
      const { body, contentType } = multipart({ project, version }, content)
      const headers = { 'content-type': contentType }
      const request = {
        method: 'POST',
        path: 'addversion.json',
        headers,
        body,
        schema: AddVersionAnswer,
        ...egg
      } as const
      const wasThere = await hasVersion(project, version, signal)
      try {
        return { spiders: (await askJson(connection, request, signal)).answer.spiders }
      } catch (error) {
        const isRefusal = error instanceof NodeError && error.kind === 'refused'
        if (!isRefusal || storedNothing(error.nodeMessage ?? '')) throw error
        const became = await takeBack(project, version, wasThere, signal)
        const { delivered, nodeMessage } = error
        throw new NodeError('refused', `${error.message.replace(/\.?$/, '.')} ${became}`, {
          delivered,
          nodeMessage,
          cause: error
        })
      }
    },

    async deleteVersion(project, version, signal) {
      checkName('project', project)
      checkName('version', version)
      const form: [string, string][] = [
        ['project', project],
        ['version', version]
      ]
      await post('delversion.json', form, DoneAnswer, other, signal)
    },

    async deleteProject(project, signal) {
      checkName('project', project)
      await post('delproject.json', [['project', project]], DoneAnswer, other, signal)
    },

    readLog: (run, range, signal) => readFile({ tree: 'logs', extension: 'log', noun: 'the log' }, run, range, signal),
    readItems: (run, range, signal) =>
      readFile({ tree: 'items', extension: 'jl', noun: 'the items' }, run, range, signal),

    close: () => connection.close()
  }
  return client
}

interface Limit {
  timeoutMs: number
  limitBytes: number
}

/** What answers are checked with: a zod schema, or a reading by hand. */
interface AnswerSchema<T> {
  safeParse(answer: Record<string, unknown>): { success: true; data: T } | { success: false }
}

const BY_HAND: AnswerSchema<NonNullable<ReturnType<typeof readDaemonStatus>>> = {
  safeParse(answer) {
    const data = readDaemonStatus(answer)
    return data === null ? { success: false } : { success: true, data }
  }
}

interface JsonRequest<T> extends Limit {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  schema: AnswerSchema<T>
}

/**
 * One exchange with a JSON endpoint. Judged in this order: status code, JSON, `status`, shape (scrapyd-protocol.md, 2.1).
 * `delivered` is `no` only where the node itself said no: 401, 404 and its own errors.
 */
export async function askJson<T>(
  connection: Connection,
  request: JsonRequest<T>,
  signal?: AbortSignal
): Promise<{ answer: T; head: AnswerHead }> {
  const endpoint = request.path.split('?')[0] ?? ''
  const collected = collectBody(request.limitBytes)
  const head = await connection.send({ ...request, receive: collected.receive }, signal)
  if (head.status !== 200) throw statusError(connection, head, endpoint)
  const text = collected.body().toString('utf8')
  const envelope = parseObject(text)
  if (envelope === null) {
    throw connection.fail(
      'not_scrapyd',
      `answered ${endpoint} with something that is not JSON (${excerpt(text)}). Is this a Scrapyd, without debug = on and without a login page before it?`,
      'unknown'
    )
  }
  if (envelope.status === 'error') throw refusal(connection, endpoint, envelope.message)
  const parsed = request.schema.safeParse(envelope)
  if (envelope.status !== 'ok' || !parsed.success) {
    throw connection.fail(
      'not_scrapyd',
      `answered ${endpoint} with JSON that is not Scrapyd's (${excerpt(text)}). Check the address.`,
      'unknown',
      (parsed as { error?: unknown }).error
    )
  }
  return { answer: parsed.data, head }
}

function statusError(connection: Connection, head: AnswerHead, what: string): NodeError {
  const { status } = head
  if (status === 401) {
    return connection.fail(
      'unauthorized',
      'refused the user name or password. Correct them in the settings of the node.',
      'no'
    )
  }
  if (status === 407) {
    return connection.fail(
      'unreachable',
      'cannot be reached: its proxy refuses its user name or password (407). Correct them in the proxy of the node.',
      'no'
    )
  }
  if (status === 404) {
    return connection.fail('http', `has no ${what} (404). Check the address and its base path.`, 'no')
  }
  if (status === 200) {
    return connection.fail(
      'not_scrapyd',
      `answered ${what} with a web page. Is there a login page before it?`,
      'unknown'
    )
  }
  if (status >= 300 && status < 400) {
    const target = excerpt(String(head.headers.location ?? 'nowhere'))
    return connection.fail('http', `redirects ${what} to ${target}. Give the address it redirects to.`, 'unknown')
  }
  return connection.fail(
    'http',
    `answered ${what} with status ${status}. See the log of the node or its proxy.${status === 400 ? ' nginx says so where it wants a client certificate.' : ''}`,
    'unknown'
  )
}

function refusal(connection: Connection, endpoint: string, message: unknown): NodeError {
  // The end of a traceback is what tells; hostile or broken nodes may send anything.
  const nodeMessage = (typeof message === 'string' ? message : '').slice(-16_000)
  const lastLine = nodeMessage.trim().split('\n').at(-1) ?? ''
  const text = `Node ${connection.label} refused ${endpoint}: ${lastLine.slice(0, 500) || 'it gave no reason'}`
  return new NodeError('refused', text, { delivered: 'no', nodeMessage })
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    // Not JSON: the caller says so with what it knows of the request.
    return null
  }
}

function excerpt(text: string): string {
  const line = text
    .slice(0, 400)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return line.length > 80 ? `${line.slice(0, 80)}…` : line || 'empty'
}

function seenJob(job: ListedJob): SeenJob {
  return {
    project: job.project,
    spider: job.spider,
    jobid: job.id,
    pid: job.pid ?? null,
    startTime: job.start_time ?? null,
    endTime: job.end_time ?? null,
    exit: null
  }
}

function dateOf(
  head: AnswerHead,
  askedAtMs: number,
  arrivedAtMs: number
): Pick<DaemonStatus, 'clockOffsetMs' | 'dateSeen'> {
  const dateMs = Date.parse(String(head.headers.date))
  if (Number.isNaN(dateMs)) return { clockOffsetMs: null, dateSeen: null }
  // The header is cut to whole seconds: the middle of that second is the best guess.
  const clockOffsetMs = Math.round(dateMs + 500 - (askedAtMs + arrivedAtMs) / 2)
  return { clockOffsetMs, dateSeen: { dateMs, askedAtMs, arrivedAtMs } }
}

function multipart(fields: { project: string; version: string }, egg: Uint8Array) {
  // Made from the content, so it cannot occur in it, and the same request is the same bytes.
  const hash = createHash('sha256').update(fields.project).update('\0').update(fields.version).update('\0').update(egg)
  const boundary = `scrapdeck-${hash.digest('hex').slice(0, 40)}`
  const head = [
    ...Object.entries(fields).map(
      ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
    ),
    `--${boundary}\r\nContent-Disposition: form-data; name="egg"; filename="project.egg"\r\n`,
    'Content-Type: application/octet-stream\r\n\r\n'
  ]
  const body = Buffer.concat([Buffer.from(head.join('')), egg, Buffer.from(`\r\n--${boundary}--\r\n`)])
  return { body, contentType: `multipart/form-data; boundary=${boundary}` }
}
