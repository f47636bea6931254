import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import type { ProjectName, ProjectPython, VersionName } from '../../../shared/contract/index.ts'
import { problemOfJsonText } from '../../../shared/json-text.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import {
  EggAnswer,
  FILE_RANGE_HEADER,
  FileRange,
  HOSTED_OPERATIONS,
  HOSTED_PATH,
  HostedFailure,
  type HostedInput,
  type HostedOperation,
  type HostedOutput,
  NO_FILE,
  type RunFile
} from '../../launcher/hosted/messages.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { EggToSend } from '../../projects/projects.ts'
import {
  type DaemonStatus,
  type EggTarget,
  type LogRange,
  type NodeClient,
  NodeError,
  type RunNames,
  type ScheduleRequest,
  type Snapshot
} from '../node-client.ts'
import { ENGINE_TRAITS } from '../node-traits.ts'
import {
  type AnswerHead,
  type Connection,
  collectBody,
  type createConnection,
  type NodeRequest
} from '../scrapyd/connection.ts'
import { DIRECT } from '../scrapyd/proxy.ts'
import { dateOf } from '../scrapyd/scrapyd-client.ts'

export interface EngineNodeOptions {
  /** Of the node, for messages. */
  name: string
  /** Where its engine is now; null: it has not been heard of for a while. */
  address: () => string | null
  /** The header that shows an engine to be one. */
  header: readonly [name: string, value: string]
  /** As set by the operator; null: its own. */
  slots: () => number | null
  /** false: what ran there goes on, and can be read. */
  takesJobs: boolean
  projects: () => readonly ProjectName[]
  pythonOf: (project: ProjectName) => ProjectPython
  clock: Clock
  connect: typeof createConnection
}

const STATUS_MS = 5_000
const JOBS_MS = 15_000
const OTHER_MS = 15_000
const SCHEDULE_MS = 60_000
const EGG_MS = 180_000
/** Longer than the node holds the request. */
const NEWS_MS = 30_000
const NEWS_APART_MS = 100
const NEWS_AFTER_FAILURE_MS = 5_000
const ANSWER_MAX_BYTES = 8_000_000

/**
 * The local node of an engine (launcher/hosted), as the engine that leads uses it. Its engine may be another one after
 * each restart, at another address; the node is the same.
 */
export class EngineNode implements NodeClient {
  readonly traits = ENGINE_TRAITS
  readonly #options: EngineNodeOptions
  readonly #closing = new AbortController()
  #connection: { address: string; connection: Connection } | null = null
  #notReady: HostedOutput<'status'>['notReady'] = { others: null, projects: {} }
  #toldTag = ''
  #told: Record<string, ProjectPython> = {}
  #released = ''
  /** Of the newest snapshot. */
  #ended: readonly string[] = []

  constructor(options: EngineNodeOptions) {
    this.#options = options
  }

  get eggTarget(): EggTarget | null {
    return this.#options.takesJobs ? this : null
  }

  whyNotReady(project: ProjectName): string | null {
    if (!this.#options.takesJobs) return 'is kept for its former runs; new ones go to the nodes of the engines'
    const python = this.#options.pythonOf(project)
    const told = this.#told[project]
    if (!isDeepStrictEqual(python, told ?? DEFAULT_PYTHON)) return `has not been told yet which Python ${project} uses`
    return told === undefined ? this.#notReady.others : (this.#notReady.projects[project] ?? null)
  }

  async daemonStatus(signal?: AbortSignal): Promise<DaemonStatus> {
    const { clock, slots } = this.#options
    const pythons = this.#pythons()
    const pythonsTag = createHash('sha256').update(JSON.stringify(pythons)).digest('hex')
    const input = { slots: slots(), pythonsTag, ...(pythonsTag !== this.#toldTag && { pythons }) }
    const askedAtMs = clock.nowMs()
    const { output, head } = await this.#ask('status', input, STATUS_MS, signal)
    // It may have restarted: then it is told next time.
    this.#toldTag = output.hasPythons ? pythonsTag : ''
    this.#told = output.hasPythons ? pythons : {}
    this.#notReady = output.notReady
    const { pending, running, finished, nodeName } = output
    return {
      ...{ pending, running, finished },
      nodeName: nodeName === null ? null : showUnseen(nodeName),
      slots: { count: output.slots, text: 'reported by its engine (max_proc)' },
      ...dateOf(head, askedAtMs, clock.nowMs())
    }
  }

  async listJobs(signal?: AbortSignal): Promise<Snapshot> {
    const begunAtMs = this.#options.clock.monotonicMs()
    const { output } = await this.#ask('jobs', {}, JOBS_MS, signal)
    this.#ended = output.finished.map(({ jobid }) => jobid)
    return { begunAtMs, ...output }
  }

  release(isNeeded: (jobid: string) => boolean): void {
    // Both nodes of a former local node are the same process: what one releases the other may need.
    if (!this.#options.takesJobs) return
    const jobids = this.#ended.filter((jobid) => !isNeeded(jobid))
    const released = jobids.join('\n')
    if (released === this.#released) return
    this.#released = released
    // Lost, it is only told later.
    this.#ask('release', { jobids }, OTHER_MS).catch(() => {})
  }

  async schedule(request: ScheduleRequest, signal?: AbortSignal): Promise<{ jobid: string }> {
    return (await this.#ask('schedule', request, SCHEDULE_MS, signal)).output
  }

  async cancel(request: HostedInput<'cancel'>, signal?: AbortSignal): Promise<HostedOutput<'cancel'>> {
    const { project, jobid } = request
    return (await this.#ask('cancel', { project, jobid, signal: request.signal }, OTHER_MS, signal)).output
  }

  async listSpiders(project: ProjectName, version: VersionName, signal?: AbortSignal): Promise<string[]> {
    return (await this.#ask('spiders', { project, version }, EGG_MS, signal)).output.spiders
  }

  async listProjects(signal?: AbortSignal): Promise<ProjectName[]> {
    return (await this.#ask('projects', {}, OTHER_MS, signal)).output.projects
  }

  async listVersions(project: ProjectName, signal?: AbortSignal): Promise<VersionName[]> {
    return (await this.#ask('versions', { project }, OTHER_MS, signal)).output.versions
  }

  async deleteVersion(project: ProjectName, version: VersionName, signal?: AbortSignal): Promise<void> {
    await this.#ask('deleteVersion', { project, version }, OTHER_MS, signal)
  }

  async addVersion(
    project: ProjectName,
    version: VersionName,
    { sha256, sizeBytes, open }: EggToSend,
    signal?: AbortSignal
  ): Promise<{ spiders: number }> {
    const content = await open()
    const headers = { 'content-type': 'application/octet-stream', 'content-length': String(sizeBytes) }
    const path = `egg?${String(new URLSearchParams({ project, version, sha256 }))}`
    const { text } = await this.#send({ path, headers, body: content, timeoutMs: EGG_MS }, signal)
    return this.#parse(EggAnswer, text, 'egg')
  }

  readLog(run: RunNames, range: { offset: number; limitBytes: number }, signal?: AbortSignal) {
    return this.#readFile('log', run, range, signal)
  }

  readItems(run: RunNames, range: { offset: number; limitBytes: number }, signal?: AbortSignal) {
    return this.#readFile('items', run, range, signal)
  }

  watchJobs(onChange: () => void): void {
    void this.#watch(onChange)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#connection?.connection.close()
  }

  /** Of the projects whose Python is not the default. */
  #pythons(): Record<string, ProjectPython> {
    const { projects, pythonOf } = this.#options
    const all = projects().map((project) => [project, pythonOf(project)] as const)
    return Object.fromEntries(all.filter(([, { kind }]) => kind !== 'default'))
  }

  /** Each answer says that something may have changed there. */
  async #watch(onChange: () => void): Promise<void> {
    const { signal } = this.#closing
    let changes = 0
    while (!signal.aborted) {
      const answer = await this.#ask('news', { changes }, NEWS_MS, signal).catch(() => null)
      if (signal.aborted) return
      if (answer !== null && answer.output.changes !== changes) {
        changes = answer.output.changes
        onChange()
      }
      await sleep(this.#options.clock, answer === null ? NEWS_AFTER_FAILURE_MS : NEWS_APART_MS, signal)
    }
  }

  async #readFile(
    kind: RunFile['kind'],
    { project, spider, jobid }: RunNames,
    { offset, limitBytes }: { offset: number; limitBytes: number },
    signal?: AbortSignal
  ): Promise<LogRange | null> {
    const body = JSON.stringify({ kind, project, spider, jobid, offset, limitBytes } satisfies RunFile)
    const request = { path: 'file', headers: JSON_TYPE, body, timeoutMs: OTHER_MS, limitBytes }
    const { head, bytes } = await this.#send(request, signal, NO_FILE)
    if (head.status === NO_FILE) return null
    const range = this.#parse(FileRange, String(head.headers[FILE_RANGE_HEADER] ?? ''), 'file')
    return { ...range, bytes }
  }

  async #ask<Name extends HostedOperation>(
    name: Name,
    input: HostedInput<Name>,
    timeoutMs: number,
    signal?: AbortSignal
  ): Promise<{ output: HostedOutput<Name>; head: AnswerHead }> {
    const request = { path: name, headers: JSON_TYPE, body: JSON.stringify(input), timeoutMs }
    const { head, text } = await this.#send(request, signal)
    return { output: this.#parse<HostedOutput<Name>>(HOSTED_OPERATIONS[name].output as never, text, name), head }
  }

  async #send(
    { limitBytes = ANSWER_MAX_BYTES, ...request }: Omit<NodeRequest, 'method' | 'receive'> & { limitBytes?: number },
    signal?: AbortSignal,
    expected = 200
  ): Promise<{ head: AnswerHead; bytes: Buffer; text: string }> {
    const connection = this.#connect()
    const collected = collectBody(limitBytes)
    const [name, value] = this.#options.header
    const headers = { ...request.headers, [name]: value }
    const head = await connection.send({ ...request, method: 'POST', headers, receive: collected.receive }, signal)
    const bytes = collected.body()
    if (head.status === 200 || head.status === expected) return { head, bytes, text: bytes.toString('utf8') }
    throw this.#failureOf(connection, head, bytes.toString('utf8'), request.path)
  }

  /** To where the engine is now. */
  #connect(): Connection {
    const { address: find, connect, name, clock } = this.#options
    const address = find()
    if (address === null) {
      const text = `Node ${name} cannot be reached: its engine has not said for some seconds that it lives. Start it.`
      throw new NodeError('unreachable', text, { delivered: 'no' })
    }
    if (this.#connection?.address !== address) {
      void this.#connection?.connection.close()
      const url = `${address}${HOSTED_PATH}/`
      // The secret of the engines must not pass through a proxy.
      const parts = { url, username: null, password: null, caCertificate: null, proxyUrl: DIRECT }
      this.#connection = { address, connection: connect({ address: parts, name, clock }) }
    }
    return this.#connection.connection
  }

  #failureOf(connection: Connection, head: AnswerHead, text: string, path: string): NodeError {
    const failure = parseJson(HostedFailure, text)?.failure
    const what = path.split('?')[0]
    if (failure === undefined) {
      const problem = `answered ${what} with status ${head.status}. See the log of that engine.`
      // Whoever has no such path has done nothing.
      return connection.fail('http', problem, head.status === 404 || head.status === 401 ? 'no' : 'unknown')
    }
    const { kind, delivered, nodeMessage, refusal } = failure
    const message = `Node ${connection.label} ${kind === 'refused' ? 'refused' : 'could not do'} ${what}: ${showUnseen(failure.message.slice(-500))}`
    return new NodeError(kind, message, { delivered, nodeMessage, refusal })
  }

  #parse<T>(schema: z.ZodType<T>, text: string, what: string): T {
    const value = parseJson(schema, text)
    if (value !== null) return value
    const problem = `answered ${what} with something else than an engine does. Do all engines have this version?`
    throw this.#connection!.connection.fail('not_scrapyd', problem, 'unknown')
  }
}

const DEFAULT_PYTHON: ProjectPython = { kind: 'default' }
const JSON_TYPE = { 'content-type': 'application/json' }

function parseJson<T>(schema: z.ZodType<T>, text: string): T | null {
  if (text.length > HARMLESS_CHARACTERS && problemOfJsonText(text, ANSWER_BOUNDS) !== null) return null
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    return null
  }
}

const ANSWER_BOUNDS = { depth: 20, values: 1_000_000, fields: 10_000 }
const HARMLESS_CHARACTERS = 10_000
