import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import type { ProjectName, ProjectPython, VersionName } from '../../../shared/contract/index.ts'
import { problemOfJsonText } from '../../../shared/json-text.ts'
import { asParam, mapStrings, type Message, say } from '../../../shared/texts/message.ts'
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
  fromSentJob,
  fromSentNotReady,
  NO_FILE,
  type NotReady,
  type RunFile,
  saidInFailure
} from './messages.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { NODE_HEADER, PEER_HEADER } from '../../runtime/peer-header.ts'
import type { EggToSend } from '../../projects/projects.ts'
import {
  type DaemonStatus,
  type EggTarget,
  fromProxy,
  kindOfGateway,
  type LogRange,
  type NodeClient,
  NodeError,
  type RunNames,
  type ScheduleRequest,
  type SeenJob,
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
import type { EngineCertificate } from '../../cluster/leadership/leadership.ts'
import { failure } from '../node-failure.ts'
import { DIRECT } from '../scrapyd/proxy.ts'
import { dateOf } from '../scrapyd/scrapyd-client.ts'
import type { EnginePlace } from './engine-nodes.ts'

export interface EngineNodeOptions {
  name: string
  /** The engine's current address. null: no recent heartbeat. */
  place: () => EnginePlace | null
  /** Our own certificate, for engines that require client certificates. */
  certificate: EngineCertificate | null
  engine: string
  secret: string
  /** The number set by the operator. null: use the number that the node reports. */
  slots: () => number | null
  /** false: the node's earlier runs continue and can be read, but it accepts no new ones. */
  takesJobs: boolean
  /** Whether a run belongs to this node. The former local node uses the same directory. */
  isListed: (jobid: string) => boolean
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
/** The time limit of a `news` request, longer than the node keeps the request open. */
const NEWS_MS = 30_000
const NEWS_APART_MS = 100
const NEWS_AFTER_FAILURE_MS = 5_000
const ANSWER_MAX_BYTES = 8_000_000
const FAILURE_MAX_BYTES = 200_000
/**
 * The maximum length of the Pythons in a request: a quarter of the 4 MB that the other engine accepts, because one
 * character can take several bytes.
 */
const PYTHONS_MAX_CHARACTERS = 1_000_000
const WHY_MAX = 500

/** The local node of another engine (hosted-node.ts), as the leader uses it. The engine's address can change. */
export class EngineNode implements NodeClient {
  readonly traits = ENGINE_TRAITS
  readonly #options: EngineNodeOptions
  readonly #closing = new AbortController()
  /** `news` is separate so that its long requests do not delay other requests. */
  #connections: { place: EnginePlace; all: Connection; news: Connection } | null = null
  #notReady: NotReady = { others: null, projects: new Map() }
  #read: {
    before: [ProjectName, ProjectPython][]
    pythons: [ProjectName, ProjectPython][]
    pythonsTag: string
  } = { before: [], pythons: [], pythonsTag: NO_PYTHONS }
  #sentTag = ''
  #sent: ReadonlyMap<ProjectName, ProjectPython> = new Map()
  #released = ''
  #ended: readonly string[] = []

  constructor(options: EngineNodeOptions) {
    this.#options = options
  }

  get eggTarget(): EggTarget | null {
    return this.#options.takesJobs ? this : null
  }

  whyNotReady(project: ProjectName): Message | null {
    if (!this.#options.takesJobs) return say('not_ready.kept_for_former_runs')
    const python = this.#options.pythonOf(project)
    const sent = this.#sent.get(project)
    if (!isDeepStrictEqual(python, sent ?? DEFAULT_PYTHON)) return say('not_ready.python_not_told', { project })
    return sent === undefined ? this.#notReady.others : (this.#notReady.projects.get(project) ?? null)
  }

  async daemonStatus(signal?: AbortSignal): Promise<DaemonStatus> {
    const { clock, slots } = this.#options
    const { pythons, pythonsTag } = this.#pythons()
    const input = { slots: slots(), pythonsTag, ...(pythonsTag !== this.#sentTag && { pythons }) }
    const askedAtMs = clock.nowMs()
    const { output, head } = await this.#ask('status', input, STATUS_MS, signal)
    // If the node restarts, the next request sends the Pythons again.
    this.#sentTag = output.hasPythons ? pythonsTag : ''
    this.#sent = new Map(output.hasPythons ? pythons : [])
    this.#notReady = fromSentNotReady(output.notReady)
    if (!output.hasPythons) this.#released = ''
    const { pending, running, finished, nodeName } = output
    return {
      pending,
      running,
      finished,
      nodeName: nodeName === null ? null : showUnseen(nodeName),
      slots: { count: output.slots, said: say('slots.of_engine') },
      ...dateOf(head, askedAtMs, clock.nowMs())
    }
  }

  async listJobs(signal?: AbortSignal): Promise<Snapshot> {
    const begunAtMs = this.#options.clock.monotonicMs()
    const { output } = await this.#ask('jobs', {}, JOBS_MS, signal)
    const [pending, running, finished] = [output.pending, output.running, output.finished].map((jobs) =>
      jobs.filter(({ jobid }) => this.#options.isListed(jobid)).map(fromSentJob)
    ) as [SeenJob[], SeenJob[], SeenJob[]]
    this.#ended = finished.map(({ jobid }) => jobid)
    return { begunAtMs, pending, running, finished }
  }

  release(isNeeded: (jobid: string) => boolean): void {
    // The former local node shares a process with the node that takes jobs, which may still need these runs.
    if (!this.#options.takesJobs) return
    const jobids = this.#ended.filter((jobid) => !isNeeded(jobid))
    const released = jobids.join('\n')
    if (released === this.#released) return
    this.#released = released
    // If this request is lost, the next snapshot sends it again.
    this.#ask('release', { jobids }, OTHER_MS).catch(() => (this.#released = ''))
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
    const { bytes } = await this.#send({ path, headers, body: content, timeoutMs: EGG_MS }, signal)
    return this.#parse(EggAnswer, bytes, 'egg')
  }

  readLog(run: RunNames, range: { offset: number; limitBytes: number }, signal?: AbortSignal) {
    return this.#readFile('log', run, range, signal)
  }

  readPrinted(run: RunNames, range: { offset: number; limitBytes: number }, signal?: AbortSignal) {
    return this.#readFile('printed', run, range, signal)
  }

  readItems(run: RunNames, range: { offset: number; limitBytes: number }, signal?: AbortSignal) {
    return this.#readFile('items', run, range, signal)
  }

  watchJobs(onChange: () => void): void {
    void this.#watch(onChange)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#disconnect()
  }

  async #disconnect(): Promise<void> {
    const connections = this.#connections
    this.#connections = null
    await Promise.all([connections?.all.close(), connections?.news.close()])
  }

  /**
   * The projects that do not use the default Python, up to the size limit of a message. Jobs of the remaining
   * projects wait. Cached, because every poll needs the list and requirements can be long.
   */
  #pythons(): { pythons: [ProjectName, ProjectPython][]; pythonsTag: string } {
    const { projects, pythonOf } = this.#options
    const all = projects().flatMap((project): [ProjectName, ProjectPython][] => {
      const python = pythonOf(project)
      return python.kind === 'default' ? [] : [[project, python]]
    })
    const { before } = this.#read
    const isSame = all.length === before.length && all.every(([, python], index) => python === before[index]![1])
    if (isSame && all.every(([project], index) => project === before[index]![0])) return this.#read
    let room = PYTHONS_MAX_CHARACTERS
    const pythons = all.filter(([, python]) => (room -= JSON.stringify(python).length) >= 0)
    const pythonsTag = createHash('sha256').update(JSON.stringify(pythons)).digest('hex')
    this.#read = { before: all, pythons, pythonsTag }
    return this.#read
  }

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
    const { head, bytes } = await this.#send(request, signal)
    return { output: this.#parse<HostedOutput<Name>>(HOSTED_OPERATIONS[name].output as never, bytes, name), head }
  }

  async #send(
    { limitBytes = ANSWER_MAX_BYTES, ...request }: Omit<NodeRequest, 'method' | 'receive'> & { limitBytes?: number },
    signal?: AbortSignal,
    expected = 200
  ): Promise<{ head: AnswerHead; bytes: Buffer }> {
    const connection = this.#connect(request.path === 'news' ? 'news' : 'all')
    const [answer, failure] = [collectBody(limitBytes), collectBody(FAILURE_MAX_BYTES)]
    const { engine, secret } = this.#options
    const peer = { [PEER_HEADER]: `${secret} -`, [NODE_HEADER]: encodeURIComponent(engine) }
    const headers = { ...request.headers, ...peer }
    const isFine = ({ status }: AnswerHead) => status === 200 || status === expected
    const receive = (head: AnswerHead) => (isFine(head) ? answer : failure).receive(head)
    const head = await connection.send({ ...request, method: 'POST', headers, receive }, signal)
    if (isFine(head)) return { head, bytes: answer.body() }
    throw this.#failureOf(connection, head, failure.body().toString('utf8'), request.path)
  }

  #connect(use: 'all' | 'news'): Connection {
    const { place: find, certificate: own, connect, name, clock } = this.#options
    const place = find()
    if (place === null) {
      throw failure('unreachable', say('node_error.engine_away', { label: name }), 'no')
    }
    if (this.#connections === null || !isDeepStrictEqual(this.#connections.place, place)) {
      void this.#disconnect()
      const url = `${place.address}${HOSTED_PATH}/`
      // The engines' secret must not pass through a proxy.
      const parts = { url, username: null, password: null, caCertificate: null, proxyUrl: DIRECT }
      const tls = { onlyCertificate: place.certificate, own: place.certificate === null ? null : own }
      const open = () => connect({ address: { ...parts, ...tls }, name, clock, program: 'engine' })
      this.#connections = { place, all: open(), news: open() }
    }
    return this.#connections[use]
  }

  #failureOf({ label }: Connection, { status }: AnswerHead, text: string, path: string): NodeError {
    const sent = parseJson(HostedFailure, text)?.failure
    const endpoint = path.split('?')[0] ?? ''
    if (sent === undefined) {
      if (status === 421) return failure('http', say('node_error.engine_of_others', { label }), 'no')
      const said = say('node_error.engine_status', { label, endpoint, status })
      // The engine did not act on the request: it rejected the login, lacks this path, or was not ready.
      const isUndone = [401, 404, 503].includes(status)
      const gateway = kindOfGateway(status)
      const error = failure(gateway ?? 'http', said, isUndone ? 'no' : 'unknown')
      return gateway === null ? error : fromProxy(error)
    }
    const { kind, delivered, refusal } = sent
    const { said: saidThere, nodeSaid } = saidInFailure(sent)
    const code = kind === 'refused' ? 'node_error.refused' : 'node_error.engine_failed'
    const isLong = sent.message.length > WHY_MAX
    const why = isLong ? showUnseen(sent.message.slice(-WHY_MAX)) : asParam(mapStrings(saidThere, showUnseen))
    const said = say(code, { label, endpoint, why })
    return new NodeError(kind, said, { delivered, nodeMessage: nodeSaid, refusal })
  }

  #parse<T>(schema: z.ZodType<T>, answer: Buffer | string, endpoint: string): T {
    const value = parseJson(schema, String(answer))
    if (value !== null) return value
    const { label } = this.#connect('all')
    throw failure('not_scrapyd', say('node_error.not_engine', { label, endpoint }), 'unknown')
  }
}

const NO_PYTHONS = createHash('sha256').update('[]').digest('hex')
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
