import { type Message, plain, say } from '../../../shared/texts/message.ts'
import type { SeenExit, SeenJob } from '../node-client.ts'
import { INIT_CONTAINER, jobNameOf, MAIN_CONTAINER } from './job-manifest.ts'
import { type ContainerStatus, type JobObject, type PodObject, type RunNote, runOf } from './objects.ts'

export interface RunPod {
  name: string
  uid: string
  container: string
  phase: 'pending' | 'running' | 'ended'
  isBeingDeleted: boolean
  hasStarted: boolean
  finalizers: readonly string[]
  startedAt: string | null
  endedAt: string | null
  exit: SeenExit | null
  waiting: Message | null
}

export interface ClusterRun extends RunNote {
  jobName: string
  hasJob: boolean
  state: 'pending' | 'running' | 'ended' | 'gone'
  /** Oldest first. Two pods mean that Kubernetes started the run twice. */
  pods: RunPod[]
  waiting: Message | null
  exit: SeenExit | null
  createdAt: string | null
}

/**
 * Joins Jobs and pods by run. Either can be missing: the Job has no pod yet, or a user deleted the Job while the
 * finalizer keeps its pod.
 *
 *   Job, no pod, not failed             pending; the condition or event of the Job states why
 *   Job failed without a pod            ended, without an exit code
 *   pod Pending, and not being deleted  pending; its condition or container states why
 *   pod Pending and being deleted, Job  pending, because Kubernetes replaces the pod
 *   the same without a Job              gone, because it never starts
 *   pod Running                         running
 *   pod Succeeded, Failed               ended; the exit code of its container
 */
export function joinRuns(jobs: readonly JobObject[], pods: readonly PodObject[]): ClusterRun[] {
  const runs = new Map<string, { note: RunNote; job: JobObject | null; pods: PodObject[] }>()
  const entryOf = (object: JobObject | PodObject) => {
    const note = runOf(object)
    if (note === null) return null
    const name = jobNameOf(note)
    let entry = runs.get(name)
    if (entry === undefined) runs.set(name, (entry = { note, job: null, pods: [] }))
    return entry
  }
  for (const job of jobs) {
    const entry = entryOf(job)
    if (entry !== null) entry.job = job
  }
  for (const pod of pods) entryOf(pod)?.pods.push(pod)
  return [...runs].map(([jobName, { note, job, pods: found }]) => toRun(jobName, note, job, found))
}

function toRun(jobName: string, note: RunNote, job: JobObject | null, found: PodObject[]): ClusterRun {
  const sorted = found.toSorted((one, other) => keyOf(one).localeCompare(keyOf(other)))
  const all = sorted.map(toPod)
  // Kubernetes replaces a pod that never started (an eviction). The replacement is not a second run.
  const started = all.filter(({ hasStarted }) => hasStarted)
  const waitingPod = all.findLast(({ phase, isBeingDeleted }) => phase === 'pending' && !isBeingDeleted)
  const pods = started.length > 0 ? started : waitingPod === undefined ? all.slice(-1) : [waitingPod]
  const [first] = pods
  const failed = job?.status?.conditions?.find(({ type, status }) => type === 'Failed' && status === 'True')
  const suspended = job?.status?.conditions?.some(({ type, status }) => type === 'Suspended' && status === 'True')
  const common = { ...note, jobName, hasJob: job !== null, pods, createdAt: job?.metadata.creationTimestamp ?? null }
  if (first !== undefined && (first.phase === 'running' || pods.some(({ phase }) => phase === 'running'))) {
    return { ...common, state: 'running', waiting: null, exit: null }
  }
  if (first?.phase === 'ended') return { ...common, state: 'ended', waiting: null, exit: first.exit }
  if (failed !== undefined) {
    const limit = failed.reason == null ? null : saidByKubernetes(failed.reason)
    return { ...common, state: 'ended', waiting: null, exit: { ...NO_EXIT, limit } }
  }
  if (first?.isBeingDeleted === true && job === null) return { ...common, state: 'gone', waiting: null, exit: null }
  if (job === null && first === undefined) return { ...common, state: 'gone', waiting: null, exit: null }
  const waiting = suspended === true ? say('pending.suspended') : (first?.waiting ?? null)
  return { ...common, state: 'pending', waiting, exit: null }
}

const keyOf = ({ metadata }: PodObject) => `${metadata.creationTimestamp ?? ''} ${metadata.name}`

const NO_EXIT: SeenExit = { code: null, signal: null, limit: null, peakMemoryBytes: null, cpuSeconds: null }

function toPod({ metadata, status }: PodObject): RunPod {
  const init = (status?.initContainerStatuses ?? []).find(({ name }) => name === INIT_CONTAINER)
  const main = (status?.containerStatuses ?? []).find(({ name }) => name === MAIN_CONTAINER)
  const ended = main?.state?.terminated
  const phase = phaseOf(status?.phase ?? null)
  const failedInit = init?.state?.terminated?.exitCode === 0 ? undefined : init?.state?.terminated
  return {
    name: metadata.name,
    uid: metadata.uid,
    container:
      ended === undefined && main?.state?.running === undefined && failedInit ? INIT_CONTAINER : MAIN_CONTAINER,
    phase,
    isBeingDeleted: metadata.deletionTimestamp != null,
    hasStarted: phase !== 'pending' || init?.state?.terminated !== undefined || ended !== undefined,
    finalizers: metadata.finalizers ?? [],
    startedAt: main?.state?.running?.startedAt ?? ended?.startedAt ?? null,
    endedAt: ended?.finishedAt ?? failedInit?.finishedAt ?? null,
    exit: phase === 'ended' ? exitOf(ended ?? failedInit, status?.reason ?? null) : null,
    waiting: phase === 'pending' ? whyPending(status, init, main) : null
  }
}

function phaseOf(phase: string | null): RunPod['phase'] {
  if (phase === 'Succeeded' || phase === 'Failed') return 'ended'
  // Unknown: the pod's Kubernetes node does not respond, so the pod may be running.
  return phase === 'Running' || phase === 'Unknown' ? 'running' : 'pending'
}

const SIGNALS: Record<number, string> = { 1: 'HUP', 2: 'INT', 3: 'QUIT', 6: 'ABRT', 9: 'KILL', 11: 'SEGV', 15: 'TERM' }

function exitOf(
  ended: { exitCode: number; signal?: number | undefined; reason?: string | undefined } | undefined,
  podReason: string | null
): SeenExit {
  if (ended === undefined) return { ...NO_EXIT, limit: podReason === null ? null : saidByKubernetes(podReason) }
  // Shells and runtimes report a signal as 128 plus its number.
  const number = ended.signal || (ended.exitCode > 128 && ended.exitCode < 160 ? ended.exitCode - 128 : 0)
  const said = podReason === null ? null : saidByKubernetes(podReason)
  const limit = ended.reason === 'OOMKilled' ? say('reason.pod_memory_limit') : said
  return number === 0
    ? { ...NO_EXIT, code: ended.exitCode, limit }
    : { ...NO_EXIT, signal: SIGNALS[number] ?? String(number), limit }
}

const saidByKubernetes = (why: string): Message =>
  say('limit_hit.kubernetes_said', { limit: say('reason.kubernetes'), why })

const HARMLESS_WAITS = new Set(['PodInitializing', 'ContainerCreating'])

function whyPending(
  status: PodObject['status'],
  init: ContainerStatus | undefined,
  main: ContainerStatus | undefined
): Message | null {
  const scheduled = status?.conditions?.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False')
  if (scheduled !== undefined) return worded(scheduled.reason, scheduled.message)
  for (const container of [init, main]) {
    const waiting = container?.state?.waiting
    if (waiting?.reason !== undefined && !HARMLESS_WAITS.has(waiting.reason)) {
      return worded(waiting.reason, waiting.message)
    }
  }
  if (init?.state?.running !== undefined) return say('pending.fetching_egg')
  return null
}

function worded(reason: string | null | undefined, message: string | null | undefined): Message {
  const text = (message ?? '').replace(/\s+/g, ' ').trim().slice(0, 300)
  const said = [reason ?? '', text].filter((part) => part !== '').join(': ')
  return said === '' ? say('pending.no_reason') : plain(said)
}

/** Lists every started pod. Two pods of one run are reported like a job that a Scrapyd node lists twice. */
export function toSeenJobs(run: ClusterRun): { list: 'pending' | 'running' | 'finished'; job: SeenJob }[] {
  const { project, spider, jobid } = run
  const none = { project, spider, jobid, pid: null, startTime: null, endTime: null, exit: null }
  if (run.state === 'gone') return []
  if (run.state === 'pending') return [{ list: 'pending', job: none }]
  if (run.pods.length === 0) return [{ list: 'finished', job: { ...none, exit: run.exit } }]
  return run.pods
    .filter(({ phase }) => phase !== 'pending')
    .map(({ phase, startedAt, endedAt, exit }) => ({
      list: phase === 'running' ? 'running' : 'finished',
      job: { ...none, startTime: naive(startedAt), endTime: naive(endedAt), exit }
    }))
}

/** Formats a time like a Scrapyd node whose time zone is UTC. */
function naive(time: string | null): string | null {
  return time === null ? null : time.replace('T', ' ').replace(/(\.\d+)?Z$/, '')
}

/** How many pods a ResourceQuota allows. null: the quota has no relevant limit. */
export function slotsOfQuota(
  hard: Record<string, string>,
  { cpu, memory }: { cpu?: string | undefined; memory?: string | undefined }
): { count: number; by: string } | null {
  const bounds: { count: number; by: string }[] = []
  for (const name of ['pods', 'count/pods', 'count/jobs.batch']) {
    const count = quantity(hard[name])
    if (count !== null) bounds.push({ count: Math.floor(count), by: name })
  }
  for (const [names, each] of [
    [['requests.cpu', 'cpu'], cpu],
    [['requests.memory', 'memory', 'limits.memory'], memory]
  ] as const) {
    const one = quantity(each)
    if (one === null || one === 0) continue
    for (const name of names) {
      const whole = quantity(hard[name])
      // The quotient of decimal quantities can be slightly below a whole number.
      if (whole !== null) bounds.push({ count: Math.floor(whole / one + 1e-9), by: name })
    }
  }
  return bounds.toSorted((one, other) => one.count - other.count)[0] ?? null
}

const UNITS: Record<string, number> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60
}

function quantity(text: string | undefined): number | null {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(m|k|Ki|[MGTPE]i?)?$/.exec(text ?? '') ?? []
  return digits === undefined ? null : Number(digits) * UNITS[unit ?? '']!
}
