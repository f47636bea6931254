import { say } from '../../../shared/texts/message.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { type DaemonStatus, type EggTarget, type NodeClient, NodeError, type Snapshot } from '../node-client.ts'
import {
  CancelAnswer,
  readDaemonStatus,
  readListJobs,
  DoneAnswer,
  type ListJobsAnswer,
  ListJobsOfProjectAnswer,
  ProjectsAnswer,
  ScheduleAnswer,
  SpidersAnswer,
  VersionsAnswer,
  SeenJobs
} from './answers.ts'
import { LISTED_MAX } from '../list-limits.ts'
import { failure } from '../node-failure.ts'
import type { SshTunnels, TunnelUse } from '../ssh/ssh-tunnels.ts'
import { SCRAPYD_TRAITS } from '../node-traits.ts'
import { type AnswerHead, createConnection, type Connection, collectBody } from './connection.ts'
import { type AnswerSchema, askJson, type Limit, statusError } from './exchange.ts'
import type { NodeAddressParts } from './transport.ts'
import { type AskLog, fetchLogRange } from './fetch-log-range.ts'
import { needsProject } from './refusals.ts'
import { createRequestChecks } from './request-checks.ts'
import { sendEgg } from './send-egg.ts'

/** Time limits of whole exchanges. The long limits are for calls during which Scrapyd imports a project and blocks. */
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
  listJobsBytes: 8_000_000,
  otherBytes: 1_000_000
}

export interface ScrapydClientOptions extends NodeAddressParts {
  name: string
  clock: Clock
  logger: Logger
  limits?: Partial<ClientLimits>
  connect?: typeof createConnection | undefined
  tunnels?: Pick<SshTunnels, 'use'> | undefined
}

export interface ScrapydClient extends NodeClient, EggTarget {
  readonly eggTarget: EggTarget
  readonly tunnel: TunnelUse | undefined
}

/** A client for Scrapyd 1.2 to 1.6 (scrapyd-protocol.md). Every failure is a NodeError. */
export function createScrapydClient(options: ScrapydClientOptions): ScrapydClient {
  const { clock, logger } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const { connect = createConnection } = options
  const connection = connect({ address: options, name: options.name, clock, tunnels: options.tunnels })
  const { checkName, checkedVersion, checkSchedule } = createRequestChecks(connection)
  const seenJobs = new SeenJobs()
  const other = { timeoutMs: limits.otherMs, limitBytes: limits.otherBytes }
  const lists = { timeoutMs: limits.listJobsMs, limitBytes: limits.listJobsBytes }
  const egg = { timeoutMs: limits.eggMs, limitBytes: limits.otherBytes }

  async function get<T>(
    path: string,
    query: Record<string, string>,
    schema: AnswerSchema<T>,
    limit: Limit,
    signal?: AbortSignal
  ) {
    const hasQuery = Object.keys(query).length > 0
    const asked = hasQuery ? `${path}?${String(new URLSearchParams(query))}` : path
    const request = { method: 'GET', path: asked, schema, ...limit } as const
    return (await askJson(connection, request, signal)).answer
  }

  async function post<T>(
    path: string,
    form: Record<string, string> | [string, string][],
    schema: AnswerSchema<T>,
    limit: Limit,
    signal?: AbortSignal
  ) {
    // URLSearchParams encodes `;`, which Scrapyd would treat as a separator.
    const body = new URLSearchParams(form).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return (await askJson(connection, { method: 'POST', path, headers, body, schema, ...limit }, signal)).answer
  }

  async function listJobsOfEachProject(signal?: AbortSignal): Promise<ListJobsAnswer> {
    const whole: ListJobsAnswer = { pending: [], running: [], finished: [] }
    const { projects } = await get('listprojects.json', {}, ProjectsAnswer, other, signal)
    if (projects.length > LISTED_MAX.projects) throw tooMany('projects')
    for (const project of projects) {
      const answer = await get('listjobs.json', { project }, ListJobsOfProjectAnswer, lists, signal)
      for (const list of ['pending', 'running', 'finished'] as const) {
        for (const job of answer[list]) whole[list].push({ ...job, project })
      }
      if (countOf(whole) > LISTED_MAX.jobs) throw tooMany('jobs')
    }
    return whole
  }

  function tooMany(noun: 'jobs' | 'projects'): NodeError {
    const said = say(`node_error.too_many_${noun}`, { label: connection.label, most: LISTED_MAX[noun] })
    return failure('too_large', said, 'unknown')
  }

  async function readFile(
    { what, tree, extension }: { what: 'log' | 'items'; tree: string; extension: string },
    ...[run, range, signal]: Parameters<NodeClient['readLog']>
  ) {
    for (const [name, value] of Object.entries({ project: run.project, spider: run.spider, job: run.jobid })) {
      checkName(name, value)
    }
    const path = [tree, run.project, run.spider, `${run.jobid}.${extension}`].map(encodeURIComponent).join('/')
    const request = { method: 'GET', path, timeoutMs: limits.logMs } as const
    const ask: AskLog = (range, receive) => connection.send({ ...request, headers: { range }, receive }, signal)
    return fetchLogRange(ask, range, (head) => statusError(connection, head, what))
  }

  const client: ScrapydClient = {
    traits: SCRAPYD_TRAITS,
    tunnel: connection.tunnel,
    get eggTarget() {
      return client
    },
    async daemonStatus(signal) {
      const askedAtMs = clock.nowMs()
      const limit = { timeoutMs: limits.daemonStatusMs, limitBytes: limits.daemonStatusBytes }
      const request = { method: 'GET', path: 'daemonstatus.json', schema: DAEMON_STATUS, ...limit } as const
      const { answer, head } = await askJson(connection, request, signal)
      return {
        pending: answer.pending,
        running: answer.running,
        finished: answer.finished,
        nodeName: answer.node_name === undefined ? null : showUnseen(answer.node_name.slice(0, 200)),
        ...dateOf(head, askedAtMs, clock.nowMs())
      }
    },

    async listJobs(signal): Promise<Snapshot> {
      const begunAtMs = clock.monotonicMs()
      let answer: ListJobsAnswer
      try {
        answer = await get('listjobs.json', {}, LIST_JOBS, lists, signal)
      } catch (error) {
        if (!(error instanceof NodeError) || !needsProject(error.nodeMessage ?? '')) throw error
        answer = await listJobsOfEachProject(signal)
      }
      if (countOf(answer) > LISTED_MAX.jobs) throw tooMany('jobs')
      const { pending, running, finished } = answer
      return { begunAtMs, ...seenJobs.see({ pending, running, finished }) }
    },

    async schedule(request, signal) {
      checkSchedule(request)
      const form: [string, string][] = [
        ['project', request.project],
        ['spider', request.spider],
        ['_version', checkedVersion(request.version)],
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
      const form = { project: request.project, job: request.jobid, signal: String(request.signal) }
      return { wasState: (await post('cancel.json', form, CancelAnswer, other, signal)).prevstate }
    },

    probeVersion(signal) {
      return probeVersion(connection, () => get('listjobs.json', {}, LIST_JOBS, lists, signal), signal)
    },

    async listProjects(signal) {
      return (await get('listprojects.json', {}, ProjectsAnswer, other, signal)).projects
    },

    async listVersions(project, signal) {
      checkName('project', project)
      return (await get('listversions.json', { project }, VersionsAnswer, egg, signal)).versions
    },

    async listSpiders(project, version, signal) {
      checkName('project', project)
      const query = { project, _version: checkedVersion(version) }
      return (await get('listspiders.json', query, SpidersAnswer, egg, signal)).spiders
    },

    async addVersion(project, version, content, signal) {
      checkName('project', project)
      const sent = checkedVersion(version)
      return sendEgg({ connection, client, name: options.name, logger, limit: egg }, project, sent, content, signal)
    },

    async deleteVersion(project, version, signal) {
      checkName('project', project)
      const form = { project, version: checkedVersion(version) }
      await post('delversion.json', form, DoneAnswer, other, signal)
    },

    readLog: (run, range, signal) => readFile({ what: 'log', tree: 'logs', extension: 'log' }, run, range, signal),
    readItems: (run, range, signal) => readFile({ what: 'items', tree: 'items', extension: 'jl' }, run, range, signal),

    close: () => connection.close()
  }
  return client
}

const DAEMON_STATUS = byHand(readDaemonStatus)
const LIST_JOBS = byHand(readListJobs)

function byHand<T>(read: (answer: Record<string, unknown>) => T | null): AnswerSchema<T> {
  return {
    safeParse(answer) {
      const data = read(answer)
      return data === null ? { success: false } : { success: true, data }
    }
  }
}

function countOf({ pending, running, finished }: ListJobsAnswer): number {
  return pending.length + running.length + finished.length
}

export function dateOf(
  head: AnswerHead,
  askedAtMs: number,
  arrivedAtMs: number
): Pick<DaemonStatus, 'clockOffsetMs' | 'dateSeen'> {
  const dateMs = Date.parse(String(head.headers.date))
  if (Number.isNaN(dateMs)) return { clockOffsetMs: null, dateSeen: null }
  // The header has whole seconds, so the middle of that second is the best estimate.
  const clockOffsetMs = Math.round(dateMs + 500 - (askedAtMs + arrivedAtMs) / 2)
  return { clockOffsetMs, dateSeen: { dateMs, askedAtMs, arrivedAtMs } }
}

/**
 * Infers the version from behavior, because Scrapyd does not report it (scrapyd-protocol.md, 9). Over HTTP, 1.5
 * and 1.6 differ only in how a numeric signal affects a running job, so no harmless request distinguishes them.
 */
async function probeVersion(
  connection: Connection,
  listJobsOfAll: () => Promise<ListJobsAnswer>,
  signal?: AbortSignal
): Promise<string> {
  const ignored = collectBody(64_000)
  const options = await connection.send(
    { method: 'OPTIONS', path: 'daemonstatus.json', timeoutMs: 5000, receive: ignored.receive },
    signal
  )
  if (options.status === 204) return '1.5+'
  try {
    const { finished } = await listJobsOfAll()
    if (finished.length === 0) return '1.3 or 1.4'
    return finished.some((job) => job.log_url !== undefined) ? '1.4' : '1.3'
  } catch (error) {
    if (error instanceof NodeError && needsProject(error.nodeMessage ?? '')) return '1.2'
    throw error
  }
}
