import type {
  Environment,
  NodeId,
  Problem,
  PythonState,
  SourceState,
  SpiderFindings
} from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { formatAge, formatDuration } from '../../../shared/time.ts'
import type { LiveAttempt } from '../../jobs/dispatch/live-attempts.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { LISTED_MAX } from '../../nodes/list-limits.ts'
import type { StorageState } from '../../maintenance/retention/retention.ts'
import type { StoredJob, StoredSchedule } from '../../model/records.ts'
import { type LongWait, longWaitProblems } from './long-waits.ts'
import {
  discoveryProblems,
  type OrderWarning,
  versionOrderProblems,
  auditProblems,
  missingRoleProblems,
  type MissingRole,
  type NamesakeEngines,
  namesakeEngineProblems,
  notApartProblems,
  plainHttpProblems,
  unreadyEngineProblems,
  cacheProblems,
  blobProblems
} from './engine-problems.ts'
import { lateProblems, namesakeProblems, scheduleProblems, type ScheduleTroubles } from './schedule-problems.ts'
import type { CacheState } from '../../cluster/cache/shared-cache.ts'
import type { SyslogAway } from '../../access/audit/syslog.ts'
import type { BlobsState } from './blob-watch.ts'
import { channelProblems, type ChannelTrouble, pluginWithoutChannelProblems } from './channel-problems.ts'
import { type HeartbeatFailure, heartbeatProblems } from './heartbeat.ts'
import { storageProblems } from './storage-problems.ts'
import { UNRELATED } from './unrelated.ts'

export interface ProblemsInput {
  nowMs: number
  nodes: readonly FleetNode[]
  live: readonly LiveAttempt[]
  /** Wall time since which a node has accepted jobs but started none; null: not stuck. */
  stuckSinceMs: (nodeId: NodeId) => number | null
  /** Failed or lost in the last day, newest first. */
  recentFailures: readonly StoredJob[]
  python: PythonState | null
  environments: readonly Environment[]
  isPaused: boolean
  queued: number
  sources: readonly SourceState[]
  orderWarnings: readonly OrderWarning[]
  /** Newest first. */
  findings: readonly SpiderFindings[]
  storage: StorageState
  blobs: BlobsState
  /** null: this engine shares none. */
  cache: CacheState | null
  namesakeEngines: readonly NamesakeEngines[]
  /** Why spiders of the local node are not kept apart, although they should be if possible; null: all is well. */
  notApart: string | null
  /** The address beyond this machine on which the service speaks plain HTTP; null: none. */
  plainHttpOn: string | null
  /** null: the syslog server takes the audit log, or there is none. */
  syslogAway: SyslogAway | null
  /** Roles that options name and that do not exist. */
  missingRoles: readonly MissingRole[]
  /** null: the heartbeat arrives, or there is none. */
  heartbeatFailure: HeartbeatFailure | null
  /** Since when a schedule has been due that does not fire; null: all fire. */
  schedulesLateSinceMs: number | null
  longWaits: readonly LongWait[]
  schedules: ScheduleTroubles
  /** Schedules that share their name with another, sorted by name: from before names had to be unique. */
  namesakes: readonly StoredSchedule[]
  /** Alert channels whose messages do not arrive. */
  channels: readonly ChannelTrouble[]
  /** Plugins with the hook `alert` that no channel names. */
  pluginsWithoutChannel: readonly string[]
}

const FAILING_SPIDERS_SHOWN = 20
const UNUSUAL_RUNS_SHOWN = 20

/** Problems that need an operator, worst first. Pure. */
export function listProblems(input: ProblemsInput): Problem[] {
  return [
    ...nodeProblems(input),
    ...stuckNodes(input),
    ...excessiveNodes(input),
    ...longWaitProblems(input.longWaits, input.nowMs),
    ...namesakeEngineProblems(input.namesakeEngines),
    ...pythonProblem(input),
    ...unreadyEngineProblems(input.nodes),
    ...environmentProblems(input),
    ...pausedQueue(input),
    ...scheduleProblems(input.schedules, input.nowMs),
    ...lateProblems(input.schedulesLateSinceMs),
    ...namesakeProblems(input.namesakes),
    ...discoveryProblems(input.sources),
    ...versionOrderProblems(input.orderWarnings),
    ...storageProblems(input.storage, input.nowMs),
    ...blobProblems(input.blobs),
    ...cacheProblems(input.cache),
    ...channelProblems(input.channels),
    ...pluginWithoutChannelProblems(input.pluginsWithoutChannel),
    ...plainHttpProblems(input.plainHttpOn),
    ...auditProblems(input.syslogAway),
    ...missingRoleProblems(input.missingRoles),
    ...notApartProblems(input.notApart),
    ...heartbeatProblems(input.heartbeatFailure),
    ...failingSpiders(input),
    ...unusualRuns(input)
  ].sort((left, right) => Number(right.severity === 'error') - Number(left.severity === 'error'))
}

function nodeProblems({ nodes, live, nowMs }: ProblemsInput): Problem[] {
  const away = nodes.filter(({ status }) => status.health !== 'up' && status.health !== 'unknown')
  if (away.length === 0) return []
  const liveOn = new Map<string, number>()
  for (const { nodeId } of live) liveOn.set(nodeId, (liveOn.get(nodeId) ?? 0) + 1)
  return away.map(({ stored, status, client }) => {
    const unknown = liveOn.get(stored.id) ?? 0
    const since = status.lastSeenAtMs === null ? '' : `; last seen ${formatAge(nowMs - status.lastSeenAtMs)} ago`
    // A node that asks for a password responds, and its jobs continue: only the password needs fixing.
    const mayBeGone = unknown > 0 && status.health !== 'unauthorized' && !client.traits.isNeverAway
    const jobs = unknown === 0 ? '' : unknownJobs(unknown, stored.giveUpAfterSeconds)
    return {
      ...UNRELATED,
      id: `node:${stored.id}`,
      severity: 'error',
      title: `${stored.name} ${HEALTH_WORDS[status.health]}`,
      text: `${(status.problem ?? '').replace(/\.$/, '')}${since}${jobs}`,
      sinceMs: status.lastSeenAtMs,
      nodeId: stored.id,
      mend: mayBeGone ? 'run_elsewhere' : 'edit_node'
    }
  })
}

function unknownJobs(count: number, giveUpAfterSeconds: number | null): string {
  const jobs = count === 1 ? '1 job on this node is' : `${count} jobs on this node are`
  const state = `; ${jobs} in an unknown state until it responds`
  return giveUpAfterSeconds === null ? state : `${state}, or is given up after ${formatDuration(giveUpAfterSeconds)}`
}

const HEALTH_WORDS = {
  unknown: '',
  up: '',
  down: 'is down',
  unauthorized: 'rejects the credentials',
  invalid: 'sends invalid responses'
}

/** Invariant I5: a node that accepts jobs but starts none is always reported. */
function stuckNodes({ nodes, stuckSinceMs, nowMs }: ProblemsInput): Problem[] {
  return nodes.flatMap(({ stored, status }): Problem[] => {
    const sinceMs = status.health === 'up' ? stuckSinceMs(stored.id) : null
    if (sinceMs === null) return []
    const what = `it accepts jobs but has started none for ${formatAge(nowMs - sinceMs)}`
    const then = 'Its queued jobs are withdrawn, and it gets one test job from time to time'
    return [
      {
        ...UNRELATED,
        id: `stuck:${stored.id}`,
        severity: 'error',
        title: `${stored.name} is stuck`,
        text: `${what}. ${then}. Restart Scrapyd there, or cordon the node`,
        sinceMs,
        nodeId: stored.id,
        mend: stored.mode === 'active' ? 'cordon_node' : 'edit_node'
      }
    ]
  })
}

/** Nodes that list more than is recorded or shown: no omission is silent. */
function excessiveNodes({ nodes }: ProblemsInput): Problem[] {
  const strangersOn = ({ external }: FleetNode['status']) => external.running.length + external.pending.length
  const excessive = nodes.filter(
    ({ status }) => status.excess !== null || strangersOn(status) > LISTED_MAX.externalShown
  )
  return excessive.map(({ stored, status }): Problem => {
    const count = strangersOn(status)
    const shown = LISTED_MAX.externalShown.toLocaleString('en-US')
    const texts = [
      ...(status.excess === null ? [] : [`it lists ${status.excess}; the rest is used`]),
      ...(count > LISTED_MAX.externalShown
        ? [`it lists ${count.toLocaleString('en-US')} jobs that Scrapdeck did not start; the first ${shown} are shown`]
        : [])
    ]
    return {
      ...UNRELATED,
      id: `excess:${stored.id}`,
      severity: 'warning',
      title: `${stored.name} lists more than Scrapdeck reads`,
      text: texts.join('; '),
      nodeId: stored.id,
      mend: 'edit_node'
    }
  })
}

function pythonProblem({ python, nodes }: ProblemsInput): Problem[] {
  if (python?.state !== 'missing' || !nodes.some(({ client }) => client.traits.runsHere)) return []
  return [
    {
      ...UNRELATED,
      id: 'python',
      severity: 'error',
      title: 'The local node cannot run spiders yet',
      text: python.problem ?? 'Python with Scrapy was not found',
      nodeId: LOCAL_NODE_ID,
      mend: 'create_environment'
    }
  ]
}

/** The main Python has a problem of its own kind. */
function environmentProblems({ environments }: ProblemsInput): Problem[] {
  return environments
    .filter(({ kind, state }) => kind !== 'main' && state === 'failed')
    .flatMap(({ id, kind, path, projects, problem }) =>
      projects.map((project): Problem => {
        const isServing = kind === 'requirements' && path !== null
        return {
          ...UNRELATED,
          id: `environment:${id}:${project}`,
          severity: isServing ? 'warning' : 'error',
          title: isServing
            ? `The Python environment of ${project} could not be rebuilt`
            : `${project} has no Python on this computer`,
          text: problem ?? 'The build failed',
          nodeId: LOCAL_NODE_ID,
          project,
          mend: null
        }
      })
    )
}

function pausedQueue({ isPaused, queued }: ProblemsInput): Problem[] {
  if (!isPaused || queued === 0) return []
  const jobs = `${queued.toLocaleString('en-US')} ${queued === 1 ? 'job waits' : 'jobs wait'}`
  const text = `${jobs}; no job is sent until you resume`
  return [{ ...UNRELATED, id: 'paused', severity: 'warning', title: 'The queue is paused', text, mend: 'resume' }]
}

function failingSpiders({ recentFailures }: ProblemsInput): Problem[] {
  const bySpider = Map.groupBy(recentFailures, ({ outcome, project, spider }) => `${outcome}:${project}/${spider}`)
  return [...bySpider].slice(0, FAILING_SPIDERS_SHOWN).map(([key, jobs]) => {
    const newest = jobs[0]!
    const times = jobs.length === 1 ? 'once' : `${jobs.length} times`
    const isLost = newest.outcome === 'lost'
    return {
      id: `spider:${key}`,
      severity: 'warning',
      title: `${newest.project}/${newest.spider} ${isLost ? 'was lost' : 'failed'}`,
      text: `${times} in the last 24 hours; last error: ${newest.killingLine ?? newest.reason ?? 'for an unknown reason'}`,
      ...UNRELATED,
      sinceMs: newest.endedAtMs,
      project: newest.project,
      spider: newest.spider,
      status: isLost ? 'lost' : 'failed',
      mend: 'open_jobs'
    }
  })
}

/** Runs that succeeded, but unlike the earlier ones of their spiders. */
function unusualRuns({ findings }: ProblemsInput): Problem[] {
  return findings.slice(0, UNUSUAL_RUNS_SHOWN).map(({ project, spider, jobId, endedAtMs, findings: found }) => ({
    ...UNRELATED,
    id: `unusual:${project}/${spider}`,
    severity: 'warning',
    title: `${project}/${spider} succeeded, but its run was unusual`,
    text: found.map(({ words }) => words).join('; '),
    sinceMs: endedAtMs,
    project,
    spider,
    jobId,
    mend: 'open_findings'
  }))
}
