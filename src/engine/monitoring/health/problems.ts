import type {
  Environment,
  NodeId,
  Problem,
  PythonState,
  SourceState,
  SpiderFindings
} from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { asParam, type Message, problemOf, say } from '../../../shared/texts/message.ts'
import type { LiveAttempt } from '../../jobs/dispatch/live-attempts.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { LISTED_MAX } from '../../nodes/list-limits.ts'
import type { StorageState } from '../../maintenance/retention/retention.ts'
import { type StoredJob, type StoredSchedule, whyFailed } from '../../model/records.ts'
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
  isolationProblems,
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
import { wordsOf } from '../expectations/expectations.ts'
import { problem } from './problem.ts'
import { isAway, isUnreachable } from '../../../shared/node-health.ts'

export interface ProblemsInput {
  nowMs: number
  nodes: readonly FleetNode[]
  live: readonly LiveAttempt[]
  /** When a node that accepts jobs stopped starting them (wall time). null: not stuck. */
  stuckSinceMs: (nodeId: NodeId) => number | null
  /** Jobs that failed or were lost in the last day, newest first. */
  recentFailures: readonly StoredJob[]
  python: PythonState | null
  environments: readonly Environment[]
  isPaused: boolean
  queued: number
  sources: readonly SourceState[]
  orderWarnings: readonly OrderWarning[]
  findings: readonly SpiderFindings[]
  storage: StorageState
  blobs: BlobsState
  cache: CacheState | null
  namesakeEngines: readonly NamesakeEngines[]
  /** Why runs on the local node are not isolated. null: no problem. */
  notIsolated: Message | null
  /** The address at which other machines reach the service over plain HTTP. null: none. */
  plainHttpOn: string | null
  /** null: the syslog server accepts the audit log, or none is configured. */
  syslogAway: SyslogAway | null
  missingRoles: readonly MissingRole[]
  /** null: the heartbeat arrives, or none is configured. */
  heartbeatFailure: HeartbeatFailure | null
  /** The time since which schedules have been late. null: none is late. */
  schedulesLateSinceMs: number | null
  longWaits: readonly LongWait[]
  schedules: ScheduleTroubles
  /**
   * Schedules that share a name, which is possible if they were stored before names had to be unique. Sorted by name.
   */
  namesakes: readonly StoredSchedule[]
  channels: readonly ChannelTrouble[]
  pluginsWithoutChannel: readonly string[]
}

const FAILING_SPIDERS_SHOWN = 20
const UNUSUAL_RUNS_SHOWN = 20

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
    ...isolationProblems(input.notIsolated),
    ...heartbeatProblems(input.heartbeatFailure),
    ...failingSpiders(input),
    ...unusualRuns(input)
  ].sort((left, right) => Number(right.severity === 'error') - Number(left.severity === 'error'))
}

function nodeProblems({ nodes, live, nowMs }: ProblemsInput): Problem[] {
  const away = nodes.filter(({ status }) => isAway(status.health))
  if (away.length === 0) return []
  const liveOn = new Map<string, number>()
  for (const { nodeId } of live) liveOn.set(nodeId, (liveOn.get(nodeId) ?? 0) + 1)
  return away.map(({ stored: { id, name, giveUpAfterSeconds }, status, client }) => {
    const { health, lastSeenAtMs } = status
    const jobs = liveOn.get(id) ?? 0
    const seenAgoMs = lastSeenAtMs === null ? null : nowMs - lastSeenAtMs
    // A node that requires a password is not unreachable: its jobs continue, and only the password needs fixing.
    const mayBeGone = jobs > 0 && isUnreachable(health) && !client.traits.isNeverUnreachable
    return problem({
      id: `node:${id}`,
      severity: 'error',
      title: say('problem_title.node_away', { node: name, health }),
      text: say('problem.node_away', {
        problem: status.problem === null ? '' : asParam(status.problem),
        seenAgoMs,
        jobs,
        giveUpAfterSeconds
      }),
      sinceMs: lastSeenAtMs,
      nodeId: id,
      mend: mayBeGone ? 'run_elsewhere' : 'edit_node'
    })
  })
}

/** Invariant I5: a node that accepts jobs but starts none is always reported. */
function stuckNodes({ nodes, stuckSinceMs, nowMs }: ProblemsInput): Problem[] {
  return nodes.flatMap(({ stored, status }): Problem[] => {
    const sinceMs = status.health === 'up' ? stuckSinceMs(stored.id) : null
    if (sinceMs === null) return []
    return [
      problem({
        id: `stuck:${stored.id}`,
        severity: 'error',
        title: say('problem_title.node_stuck', { node: stored.name }),
        text: say('problem.node_stuck', { forMs: nowMs - sinceMs }),
        sinceMs,
        nodeId: stored.id,
        mend: stored.mode === 'active' ? 'cordon_node' : 'edit_node'
      })
    ]
  })
}

function excessiveNodes({ nodes }: ProblemsInput): Problem[] {
  const shown = LISTED_MAX.externalShown
  return nodes.flatMap(({ stored, status: { excess, external } }): Problem[] => {
    const count = external.running.length + external.pending.length
    if (excess === null && count <= shown) return []
    return [
      problem({
        id: `excess:${stored.id}`,
        severity: 'warning',
        title: say('problem_title.node_excess', { node: stored.name }),
        text: say('problem.node_excess', { excess, external: count > shown ? count : null, shown }),
        nodeId: stored.id,
        mend: 'edit_node'
      })
    ]
  })
}

function pythonProblem({ python, nodes }: ProblemsInput): Problem[] {
  if (python?.state !== 'missing' || !nodes.some(({ client }) => client.traits.runsHere)) return []
  return [
    problem({
      id: 'python',
      severity: 'error',
      title: say('problem_title.python_missing'),
      text: problemOf(python) ?? say('problem.python_missing'),
      nodeId: LOCAL_NODE_ID,
      mend: 'create_environment'
    })
  ]
}

function environmentProblems({ environments }: ProblemsInput): Problem[] {
  return environments
    .filter(({ kind, state }) => kind !== 'main' && state === 'failed')
    .flatMap((environment) =>
      environment.projects.map((project): Problem => {
        const { id, kind, path } = environment
        const isServing = kind === 'requirements' && path !== null
        return problem({
          id: `environment:${id}:${project}`,
          severity: isServing ? 'warning' : 'error',
          title: say(isServing ? 'problem_title.python_not_rebuilt' : 'problem_title.python_not_built', { project }),
          text: problemOf(environment) ?? say('problem.python_not_built'),
          nodeId: LOCAL_NODE_ID,
          project
        })
      })
    )
}

function pausedQueue({ isPaused, queued }: ProblemsInput): Problem[] {
  if (!isPaused || queued === 0) return []
  const text = say('problem.queue_paused', { jobs: queued })
  return [
    problem({ id: 'paused', severity: 'warning', title: say('problem_title.queue_paused'), text, mend: 'resume' })
  ]
}

function failingSpiders({ recentFailures }: ProblemsInput): Problem[] {
  const bySpider = Map.groupBy(recentFailures, ({ outcome, project, spider }) => `${outcome}:${project}/${spider}`)
  return [...bySpider].slice(0, FAILING_SPIDERS_SHOWN).map(([key, jobs]) => {
    const newest = jobs[0]!
    const { project, spider } = newest
    const isLost = newest.outcome === 'lost'
    return problem({
      id: `spider:${key}`,
      severity: 'warning',
      title: say('problem_title.spider_fails', { project, spider, isLost }),
      text: say('problem.spider_fails', { times: jobs.length, why: whyFailed(newest) }),
      sinceMs: newest.endedAtMs,
      project,
      spider,
      status: isLost ? 'lost' : 'failed',
      mend: 'open_jobs'
    })
  })
}

function unusualRuns({ findings }: ProblemsInput): Problem[] {
  return findings.slice(0, UNUSUAL_RUNS_SHOWN).map(({ project, spider, jobId, endedAtMs, findings: found }) =>
    problem({
      id: `unusual:${project}/${spider}`,
      severity: 'warning',
      title: say('problem_title.run_unusual', { project, spider }),
      text: wordsOf(found),
      sinceMs: endedAtMs,
      project,
      spider,
      jobId,
      mend: 'open_findings'
    })
  )
}
