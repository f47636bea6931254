import pLimit from 'p-limit'
import type { KubernetesSettings, ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { type Message, plain, say } from '../../../shared/texts/message.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { LISTED_MAX } from '../list-limits.ts'
import { failure } from '../node-failure.ts'
import {
  type DaemonStatus,
  ENDING_SIGNALS,
  type NodeClient,
  NodeError,
  type NodeSignal,
  type RunNames,
  type ScheduleRequest,
  type Snapshot
} from '../node-client.ts'
import { KUBERNETES_TRAITS } from '../node-traits.ts'
import { createConnection } from '../scrapyd/connection.ts'
import { createRequestChecks } from '../scrapyd/request-checks.ts'
import { dateOf } from '../scrapyd/scrapyd-client.ts'
import type { NodeAddressParts } from '../scrapyd/transport.ts'
import { type ApiAnswer, type ApiRequest, KubernetesApi, readCredential } from './api.ts'
import type { CredentialFiles } from './credential-files.ts'
import { parseClusterUrl } from './cluster-url.ts'
import { FINALIZER, jobNameOf, type Manifest, manifestsOf, NODE_LABEL, podSettingsOf } from './job-manifest.ts'
import { watchPods } from './job-watch.ts'
import { JobObject, PodObject, QuotaObject, runOf } from './objects.ts'
import { PodLogs } from './pod-logs.ts'
import { type ClusterRun, joinRuns, type RunPod, slotsOfQuota, toSeenJobs } from './runs.ts'

export interface KubernetesClientOptions extends Omit<NodeAddressParts, 'username' | 'password'> {
  nodeId: string
  name: string
  settings: KubernetesSettings
  files: Pick<CredentialFiles, 'read'>
  /** null: a token file or a client certificate is used. */
  token: string | null
  /** What a pod needs to fetch the egg. null: we have no egg. Absent: pods fetch no egg (a probe). */
  eggOf?: (run: Pick<ScheduleRequest, 'project' | 'version' | 'jobid'>) => { path: string; sha256: string } | null
  directory: string
  clock: Clock
  logger: Logger
  connect?: typeof createConnection | undefined
}

/** The maximum age of a list that we return. The limit is longer while a watch receives events. */
const LIST_AGE_MS = 2_000
const WATCHED_LIST_AGE_MS = 5_000
const LISTS_APART_MS = 1_000
const POST_WAITS_MS = [200, 500, 1_000, 2_000, 4_000]
/** How long ended runs remain visible to users of the cluster. */
const KEPT_MS = 60_000
const DELETED_AT_ONCE = 4
const QUOTA_EVERY_MS = 60_000
const EVENTS_READ_MAX = 20
const EVENTS_EVERY_MS = 15_000
const TOKEN_EVERY_MS = 30_000

interface Listed {
  begunAtMs: number
  runs: Map<string, ClusterRun>
  podVersion: string
  status: DaemonStatus
}

/**
 * A namespace of a Kubernetes cluster as a node. Each run is a Job. The name of the Job derives from the jobid, so
 * we can repeat a POST until its outcome is known: if the Job already exists, it is the requested one.
 */
export class KubernetesClient implements NodeClient {
  readonly traits = KUBERNETES_TRAITS
  readonly eggTarget = null
  readonly #options: KubernetesClientOptions
  readonly #api: KubernetesApi
  readonly #logs: PodLogs
  readonly #checks: ReturnType<typeof createRequestChecks>
  readonly #namespace: string
  readonly #core: string
  readonly #jobs: string
  readonly #selector: string
  readonly #closing = new AbortController()
  readonly #connections = new Set<{ close(): Promise<void> }>()
  readonly #deleting = new Map<string, Promise<void>>()
  readonly #atOnce = pLimit(DELETED_AT_ONCE)
  /** By Job name: when the run first appeared as ended, and whether it is still needed. */
  readonly #endedRuns = new Map<string, { sinceMs: number; isNeeded: boolean }>()
  /** By Job name: why the Job has no pod. */
  readonly #events = new Map<string, { text: string | null; atMs: number }>()
  #listed: Listed | null = null
  #listing: Promise<Listed> | null = null
  #isStale = false
  #lastEventMs = Number.NEGATIVE_INFINITY
  #quota: { slots: DaemonStatus['slots']; atMs: number } | null = null
  #token: { text: string; atMs: number } | null = null
  #serverVersion: string | null = null
  #watching: Promise<void> | null = null

  static async open(options: KubernetesClientOptions): Promise<KubernetesClient> {
    const { caFile } = options.settings
    if (caFile === null) return new KubernetesClient(options)
    const label = `${options.name} (${options.url})`
    return new KubernetesClient({
      ...options,
      caCertificate: await readCredential(label, options.files, caFile, 'ca')
    })
  }

  private constructor(options: KubernetesClientOptions) {
    this.#options = options
    const { server, namespace } = parseClusterUrl(options.url)
    this.#namespace = namespace
    this.#core = `api/v1/namespaces/${namespace}/`
    this.#jobs = `apis/batch/v1/namespaces/${namespace}/jobs`
    this.#selector = `${NODE_LABEL}=${options.nodeId}`
    const open = () => {
      const { connect = createConnection, name, clock } = options
      const address = { ...options, url: server, username: null, password: null }
      const connection = connect({ address, name, clock, program: 'kubernetes' })
      this.#connections.add(connection)
      const close = async () => {
        this.#connections.delete(connection)
        await connection.close()
      }
      return { api: new KubernetesApi(connection, () => this.#readToken()), connection: { ...connection, close } }
    }
    const main = open()
    this.#api = main.api
    this.#checks = createRequestChecks(main.connection)
    const { directory, clock } = options
    this.#logs = new PodLogs({ api: main.api, openConnection: open, directory, namespacePath: this.#core, clock })
  }

  async daemonStatus(signal?: AbortSignal): Promise<DaemonStatus> {
    const nowMs = this.#options.clock.monotonicMs()
    const isWatched = nowMs - this.#lastEventMs < 10 * WATCHED_LIST_AGE_MS
    const agedMs = this.#isStale ? LISTS_APART_MS : isWatched ? WATCHED_LIST_AGE_MS : LIST_AGE_MS
    const listed = await this.#list(agedMs, signal)
    this.#deleteDue()
    return { ...listed.status, slots: await this.#readQuota(signal) }
  }

  async listJobs(signal?: AbortSignal): Promise<Snapshot> {
    const { begunAtMs, runs } = await this.#list(LISTS_APART_MS, signal)
    const snapshot: Snapshot = { begunAtMs, pending: [], running: [], finished: [] }
    for (const run of runs.values()) for (const { list, job } of toSeenJobs(run)) snapshot[list].push(job)
    return snapshot
  }

  whyPending(jobid: string): Message | null {
    for (const run of this.#listed?.runs.values() ?? []) {
      if (run.jobid === jobid && run.state === 'pending') {
        const event = this.#events.get(run.jobName)?.text ?? null
        return run.waiting ?? (event === null ? null : plain(event))
      }
    }
    return null
  }

  watchJobs(onChange: () => void): void {
    if (this.#watching !== null) return
    const { clock } = this.#options
    const { connect = createConnection, name } = this.#options
    const { server } = parseClusterUrl(this.#options.url)
    const connection = connect({
      address: { ...this.#options, url: server, username: null, password: null },
      name,
      clock,
      program: 'kubernetes'
    })
    this.#connections.add(connection)
    this.#watching = watchPods({
      api: new KubernetesApi(connection, () => this.#readToken()),
      path: `${this.#core}pods`,
      labelSelector: this.#selector,
      resourceVersion: () => this.#listed?.podVersion ?? null,
      onEvent: () => {
        const wasStale = this.#isStale
        this.#isStale = true
        this.#lastEventMs = clock.monotonicMs()
        if (!wasStale) onChange()
      },
      clock,
      signal: this.#closing.signal
    })
  }

  async schedule(request: ScheduleRequest, signal?: AbortSignal): Promise<{ jobid: string }> {
    this.#checks.checkSchedule(request)
    const { nodeId, settings, eggOf } = this.#options
    const { label } = this.#api
    const { image, settingsModule } = podSettingsOf(settings, request.project)
    if (image === undefined) throw refused(say('node_error.no_image', { label, project: request.project }))
    const linked = settingsModule === undefined ? (eggOf?.(request) ?? null) : null
    if (settingsModule === undefined && linked === null) {
      throw refused(say('node_error.no_egg_for_pod', { label, project: request.project }))
    }
    if (linked !== null && settings.engineUrl === null) {
      throw refused(say('node_error.no_engine_url', { label }))
    }
    const egg =
      linked === null ? null : { url: new URL(linked.path, withSlash(settings.engineUrl!)).href, sha256: linked.sha256 }
    const { job, secret, longestBytes } = manifestsOf({ nodeId, settings, request, egg })
    this.#checks.checkSize(longestBytes)
    if (secret !== null) await this.#create(`${this.#core}secrets`, secret, signal)
    const outcome = await this.#create(this.#jobs, job, signal)
    if (outcome === 'exists') await this.#checkOurs(job.metadata.name, request, signal)
    this.#isStale = true
    return { jobid: request.jobid }
  }

  /**
   * Repeats the POST while its outcome is unknown, which is harmless because the name is fixed. Does not repeat a
   * request that was never sent, so that a cluster that is down does not block callers.
   */
  async #create(path: string, manifest: Manifest, signal?: AbortSignal): Promise<'created' | 'exists'> {
    const request: ApiRequest = { method: 'POST', path, query: { fieldValidation: 'Strict' }, body: manifest }
    let isUnknown = false
    for (let tries = 0; ; tries += 1) {
      let failure: NodeError
      try {
        const answer = await this.#api.ask(request, signal)
        if (answer.status < 300) return 'created'
        if (answer.status === 409) return 'exists'
        failure = this.#api.errorOf(answer, request)
        const isBusy = answer.status === 429
        if (failure.delivered === 'no' && !isBusy)
          throw isUnknown ? await this.#settled(failure, path, manifest) : failure
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        if (error.delivered === 'no' && !isUnknown) throw error
        failure = error
      }
      isUnknown ||= failure.delivered === 'unknown'
      const waitMs = POST_WAITS_MS[tries]
      if (failure.kind === 'aborted' || waitMs === undefined) throw withDelivery(failure, isUnknown ? 'unknown' : 'no')
      await sleep(this.#options.clock, waitMs, signal ?? this.#closing.signal).catch(() => {})
      if ((signal ?? this.#closing.signal).aborted) throw withDelivery(failure, isUnknown ? 'unknown' : 'no')
    }
  }

  /**
   * Checks whether the object exists after a refusal, because an earlier request with an unknown outcome may have
   * created it.
   */
  async #settled(failure: NodeError, path: string, manifest: Manifest): Promise<NodeError> {
    const found = await this.#api.ask({ path: `${path}/${manifest.metadata.name}` }).catch(() => null)
    return withDelivery(failure, found?.status === 404 ? 'no' : 'unknown')
  }

  async #checkOurs(name: string, request: ScheduleRequest, signal?: AbortSignal): Promise<void> {
    const path = `${this.#jobs}/${name}`
    const answer = await this.#api.ask({ path }, signal)
    // The Job existed a moment ago, so it has run and was deleted.
    if (answer.status === 404) return
    if (answer.status >= 300) throw withDelivery(this.#api.errorOf(answer, { path }), 'unknown')
    const parsed = JobObject.safeParse(answer.value)
    const run = parsed.success ? runOf(parsed.data) : null
    if (run?.jobid === request.jobid && run.project === request.project) return
    throw refused(say('node_error.other_job_there', { label: this.#api.label, name }))
  }

  async cancel(
    { project, jobid, signal }: { project: ProjectName; jobid: string; signal: NodeSignal },
    abort?: AbortSignal
  ): Promise<{ wasState: 'pending' | 'running' | null }> {
    this.#checks.checkName('project', project)
    if (!ENDING_SIGNALS.has(signal)) {
      throw refused(say('node_error.signal_unsupported', { label: this.#api.label, signal }))
    }
    const jobName = jobNameOf({ project, jobid })
    const run = (await this.#list(0, abort)).runs.get(jobName)
    this.#isStale = true
    if (run === undefined || run.state === 'ended' || run.state === 'gone') return { wasState: null }
    if (run.hasJob) await this.#delete(`${this.#jobs}/${jobName}`, { propagationPolicy: 'Background' }, abort)
    const isKill = signal === 'KILL' || signal === 9
    // Kubernetes deletes the pods with the Job, but only after their grace period. A second cancellation shortens it.
    const grace = isKill ? { gracePeriodSeconds: 1 } : run.hasJob ? {} : { gracePeriodSeconds: 10 }
    for (const pod of run.pods) {
      if (pod.phase === 'ended') continue
      await this.#delete(`${this.#core}pods/${pod.name}`, grace, abort)
      if (!pod.hasStarted && run.state === 'pending') await this.#removeFinalizer(pod, abort)
    }
    return { wasState: run.state }
  }

  release(isNeeded: (jobid: string) => boolean): void {
    const nowMs = this.#options.clock.monotonicMs()
    const runs = this.#listed?.runs ?? new Map<string, ClusterRun>()
    for (const name of this.#endedRuns.keys()) if (runs.get(name)?.state !== 'ended') this.#endedRuns.delete(name)
    for (const [name, run] of runs) {
      if (run.state !== 'ended') continue
      const sinceMs = this.#endedRuns.get(name)?.sinceMs ?? nowMs
      this.#endedRuns.set(name, { sinceMs, isNeeded: isNeeded(run.jobid) })
    }
    this.#deleteDue()
  }

  /**
   * Deletes gone runs, and runs that ended long enough ago. Also called by every poll, because `release` is called only
   * after new lists.
   */
  #deleteDue(): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const [name, run] of this.#listed?.runs ?? []) {
      const { sinceMs, isNeeded } = this.#endedRuns.get(name) ?? { sinceMs: nowMs, isNeeded: true }
      const isOver = run.state === 'ended' && !isNeeded && nowMs - sinceMs >= KEPT_MS
      if (isOver || run.state === 'gone') this.#deleteSoon(run)
    }
  }

  async listSpiders(project: ProjectName, version: VersionName): Promise<string[]> {
    const { label } = this.#api
    throw failure('http', say('node_error.lists_no_spiders', { label, project, version }), 'no')
  }

  async readLog(run: RunNames, range: { offset: number; limitBytes: number }, signal?: AbortSignal) {
    const jobName = jobNameOf(run as Pick<ScheduleRequest, 'project' | 'jobid'>)
    let found = this.#listed?.runs.get(jobName)
    // A run without a pod in the last list is looked up in a new list, because the log shows whether it ever started.
    if (found === undefined || found.pods.length === 0) found = (await this.#list(0, signal)).runs.get(jobName)
    const pod = found?.pods[0]
    if (pod === undefined || !pod.hasStarted) return null
    const { name, uid, container, phase } = pod
    const log = await this.#logs.read(
      { jobName, pod: name, uid, container, hasEnded: phase === 'ended' },
      range,
      signal
    )
    return log
  }

  /** Pods keep no items. Projects send them elsewhere. */
  async readItems(): Promise<null> {
    return null
  }

  async probeVersion(signal?: AbortSignal): Promise<string> {
    if (this.#serverVersion !== null) return this.#serverVersion
    const { value } = await this.#api.get({ path: 'version' }, signal)
    const { gitVersion } = (value ?? {}) as { gitVersion?: unknown }
    return (this.#serverVersion = typeof gitVersion === 'string' ? gitVersion.slice(0, 40) : 'unknown')
  }

  /** Rejects with a NodeError that names the first missing permission. */
  async checkRights(signal?: AbortSignal): Promise<void> {
    await this.probeVersion(signal)
    for (const [group, resource, verb, subresource] of RIGHTS) {
      const attributes = { namespace: this.#namespace, group, resource, verb, ...(subresource && { subresource }) }
      const body = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: attributes }
      }
      const request: ApiRequest = {
        method: 'POST',
        path: 'apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        body
      }
      const { value } = await this.#api.get(request, signal)
      if ((value as { status?: { allowed?: unknown } } | null)?.status?.allowed === true) continue
      const right = `${verb} ${resource}${subresource ? `/${subresource}` : ''}${group ? ` (${group})` : ''}`
      const { label } = this.#api
      const said = say('node_error.right_missing', { label, right, namespace: this.#namespace })
      throw failure('forbidden', said, 'no')
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#logs.close()
    await Promise.all([...this.#connections].map((connection) => connection.close()))
    await this.#watching
    await Promise.allSettled(this.#deleting.values())
  }

  async #list(ageMs: number, signal?: AbortSignal): Promise<Listed> {
    const nowMs = this.#options.clock.monotonicMs()
    if (this.#listed !== null && nowMs - this.#listed.begunAtMs < ageMs) return this.#listed
    if (this.#listing !== null && ageMs > 0) return this.#listing
    const listing = this.#listNow(signal).finally(() => {
      if (this.#listing === listing) this.#listing = null
    })
    this.#listing = listing
    return listing
  }

  async #listNow(signal?: AbortSignal): Promise<Listed> {
    const { clock } = this.#options
    const begunAtMs = clock.monotonicMs()
    const askedAtMs = clock.nowMs()
    this.#isStale = false
    const jobs = await this.#api.list(this.#jobs, this.#selector, JobObject, signal)
    const arrivedAtMs = clock.nowMs()
    const pods = await this.#api.list(`${this.#core}pods`, this.#selector, PodObject, signal)
    if (jobs.items.length + pods.items.length > LISTED_MAX.jobs) {
      throw failure('too_large', say('node_error.too_many_pods', { label: this.#api.label }), 'no')
    }
    const runs = new Map(joinRuns(jobs.items, pods.items).map((run) => [run.jobName, run]))
    await this.#readEvents(runs, signal)
    const seen = [...runs.values()].flatMap(toSeenJobs)
    const count = (list: string) => seen.filter((one) => one.list === list).length
    const status: DaemonStatus = {
      pending: count('pending'),
      running: count('running'),
      finished: count('finished'),
      nodeName: this.#namespace,
      ...dateOf(jobs.head, askedAtMs, arrivedAtMs)
    }
    const listed: Listed = { begunAtMs, runs, podVersion: pods.resourceVersion, status }
    if (this.#listed === null || this.#listed.begunAtMs < begunAtMs) this.#listed = listed
    return listed
  }

  /** Only the events of a Job state why it has no pod: an exceeded quota, a missing service account. */
  async #readEvents(runs: ReadonlyMap<string, ClusterRun>, signal?: AbortSignal): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs()
    for (const name of this.#events.keys()) if (runs.get(name)?.state !== 'pending') this.#events.delete(name)
    const due = [...runs.values()].filter(
      ({ state, pods, jobName }) =>
        state === 'pending' &&
        pods.length === 0 &&
        nowMs - (this.#events.get(jobName)?.atMs ?? Number.NEGATIVE_INFINITY) >= EVENTS_EVERY_MS
    )
    for (const { jobName, createdAt } of due.slice(0, EVENTS_READ_MAX)) {
      // A new Job normally gets its pod within a second.
      if (createdAt !== null && this.#options.clock.nowMs() - Date.parse(createdAt) < 1_500) continue
      const fieldSelector = `involvedObject.kind=Job,involvedObject.name=${jobName},type=Warning`
      const answer = await this.#api.ask({ path: `${this.#core}events`, query: { fieldSelector, limit: '50' } }, signal)
      // Runs work without the permission to read events.
      this.#events.set(jobName, { text: answer.status < 300 ? newestEvent(answer) : null, atMs: nowMs })
    }
  }

  async #readQuota(signal?: AbortSignal): Promise<DaemonStatus['slots']> {
    const { quota, pod } = this.#options.settings
    if (quota === null) return null
    const nowMs = this.#options.clock.monotonicMs()
    if (this.#quota !== null && nowMs - this.#quota.atMs < QUOTA_EVERY_MS) return this.#quota.slots
    const { value } = await this.#api.get({ path: `${this.#core}resourcequotas/${quota}` }, signal)
    const parsed = QuotaObject.safeParse(value)
    const found = parsed.success ? slotsOfQuota(parsed.data.status?.hard ?? {}, pod) : null
    const slots =
      found === null ? null : { count: found.count, said: say('slots.of_quota', { quota, field: found.by }) }
    this.#quota = { slots, atMs: nowMs }
    return slots
  }

  #deleteSoon(run: ClusterRun): void {
    if (this.#deleting.has(run.jobName) || this.#closing.signal.aborted) return
    const done = this.#atOnce(() => this.#deleteRun(run)).catch((error: unknown) => {
      if (this.#closing.signal.aborted) return
      this.#options.logger.warn({ error, job: run.jobName }, 'an ended Job could not be deleted; trying again')
    })
    this.#deleting.set(
      run.jobName,
      done.finally(() => this.#deleting.delete(run.jobName))
    )
  }

  async #deleteRun({ jobName, hasJob, pods, hasSecret }: ClusterRun): Promise<void> {
    const { signal } = this.#closing
    // Deletes the Job first. Otherwise the Job would replace a pod that has lost its finalizer.
    if (hasJob) await this.#delete(`${this.#jobs}/${jobName}`, { propagationPolicy: 'Background' }, signal)
    for (const pod of pods) {
      await this.#delete(`${this.#core}pods/${pod.name}`, {}, signal)
      await this.#removeFinalizer(pod, signal)
    }
    if (hasSecret) await this.#delete(`${this.#core}secrets/${jobName}`, {}, signal)
    await this.#logs.forget(jobName)
    this.#endedRuns.delete(jobName)
    this.#isStale = true
  }

  /** Removes only our finalizer, not those of Kubernetes. The `test` operation fails after a concurrent change. */
  async #removeFinalizer({ name, finalizers }: RunPod, signal?: AbortSignal): Promise<void> {
    const at = finalizers.indexOf(FINALIZER)
    if (at === -1) return
    const path = `${this.#core}pods/${name}`
    const current = await this.#api.ask({ path }, signal)
    if (current.status === 404) return
    const found = PodObject.safeParse(current.value)
    const now = found.success ? (found.data.metadata.finalizers ?? []).indexOf(FINALIZER) : -1
    if (now === -1) return
    const body = [
      { op: 'test', path: `/metadata/finalizers/${now}`, value: FINALIZER },
      { op: 'remove', path: `/metadata/finalizers/${now}` }
    ]
    const request: ApiRequest = { method: 'PATCH', path, body, contentType: 'application/json-patch+json' }
    const answer = await this.#api.ask(request, signal)
    if (answer.status >= 300 && answer.status !== 404) throw this.#api.errorOf(answer, request)
  }

  async #delete(path: string, body: Record<string, unknown>, signal?: AbortSignal): Promise<void> {
    const request: ApiRequest = { method: 'DELETE', path, body }
    const answer = await this.#api.ask(request, signal)
    if (answer.status >= 300 && answer.status !== 404 && answer.status !== 409) throw this.#api.errorOf(answer, request)
  }

  async #readToken(): Promise<string | null> {
    const { files, settings } = this.#options
    const { tokenFile } = settings
    if (tokenFile === null) return this.#options.token
    const nowMs = this.#options.clock.monotonicMs()
    if (this.#token === null || nowMs - this.#token.atMs >= TOKEN_EVERY_MS) {
      this.#token = { text: await readCredential(this.#api.label, files, tokenFile, 'token'), atMs: nowMs }
    }
    return this.#token.text
  }
}

const refused = (said: Message): NodeError => failure('refused', said, 'no')

/** The permissions that runs need, as in the Role in docs/kubernetes.md: API group, resource, verb, subresource. */
const RIGHTS: readonly (readonly [string, string, string, string?])[] = [
  ['batch', 'jobs', 'create'],
  ['batch', 'jobs', 'get'],
  ['batch', 'jobs', 'list'],
  ['batch', 'jobs', 'delete'],
  ['', 'pods', 'get'],
  ['', 'pods', 'list'],
  ['', 'pods', 'watch'],
  ['', 'pods', 'delete'],
  ['', 'pods', 'patch'],
  ['', 'pods', 'get', 'log']
]

function newestEvent({ value }: ApiAnswer): string | null {
  const items = (value as { items?: unknown } | null)?.items
  if (!Array.isArray(items)) return null
  const events = items as { reason?: unknown; message?: unknown; lastTimestamp?: unknown; eventTime?: unknown }[]
  const timeOf = (one: (typeof events)[number]) => String(one?.lastTimestamp ?? one?.eventTime ?? '')
  const newest = events.toSorted((one, other) => timeOf(one).localeCompare(timeOf(other))).at(-1)
  if (newest === undefined) return null
  return `${String(newest.reason ?? '')}: ${String(newest.message ?? '')}`.replace(/\s+/g, ' ').trim().slice(0, 400)
}

function withDelivery(error: NodeError, delivered: 'no' | 'unknown'): NodeError {
  if (error.delivered === delivered) return error
  const { kind, said, nodeSaid, refusal } = error
  return new NodeError(kind, said, { delivered, nodeMessage: nodeSaid, refusal, cause: error })
}

const withSlash = (url: string) => (url.endsWith('/') ? url : `${url}/`)
