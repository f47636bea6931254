import type { ProjectName, Problem, SourceState } from '../../../shared/contract/index.ts'
import { asParam, type Message, plain, say } from '../../../shared/texts/message.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import type { SyslogAway } from '../../access/audit/syslog.ts'
import type { CacheState } from '../../cluster/cache/shared-cache.ts'
import type { BlobsState } from './blob-watch.ts'
import { problem } from './problem.ts'
import { howLow } from './storage-problems.ts'

export interface NamesakeEngines {
  name: string
  addresses: readonly string[]
  sinceMs: number
}

/**
 * If two engines have the same name, runs are looked up on the wrong engine, and the fleet contains only one of their
 * local nodes.
 */
export function namesakeEngineProblems(namesakes: readonly NamesakeEngines[]): Problem[] {
  return namesakes.map(({ name, addresses, sinceMs }) =>
    problem({
      id: `engines:${name}`,
      severity: 'error',
      title: say('problem_title.engine_names', { engines: addresses.length, name }),
      text: say('problem.engine_names', { addresses }),
      sinceMs
    })
  )
}

/** Warns of plain HTTP, because others on the network could read passwords and sessions. */
export function plainHttpProblems(address: string | null): Problem[] {
  if (address === null) return []
  const text = say('problem.plain_http', { address })
  return [problem({ id: 'plain-http', severity: 'warning', title: say('problem_title.plain_http'), text })]
}

export interface MissingRole {
  name: string
  options: readonly string[]
}

export function missingRoleProblems(roles: readonly MissingRole[]): Problem[] {
  return roles.map(({ name, options }) =>
    problem({
      id: `role:${name}`,
      severity: 'warning',
      title: say('problem_title.role_missing', { role: name }),
      text: say('problem.role_missing', { options })
    })
  )
}

/** Warns if spiders are not isolated, because any user who can upload an egg has the rights of Scrapdeck. */
export function isolationProblems(why: Message | null): Problem[] {
  if (why === null) return []
  const text = say('problem.not_apart', { why: asParam(why) })
  return [problem({ id: 'spiders-not-apart', severity: 'warning', title: say('problem_title.not_apart'), text })]
}

/** Stands for any project. An unknown project has no separate Python, so it uses the main one. */
const ANY_PROJECT = '' as ProjectName

export function unreadyEngineProblems(nodes: readonly FleetNode[]): Problem[] {
  return nodes.flatMap(({ stored: { id, name, kind, mode }, status, client }): Problem[] => {
    const takesJobs = kind === 'engine' && mode === 'active' && status.health === 'up'
    const why = takesJobs ? (client.whyNotReady?.(ANY_PROJECT) ?? null) : null
    if (why === null) return []
    return [
      problem({
        id: `engine-python:${id}`,
        severity: 'error',
        title: say('problem_title.engine_not_ready', { node: name }),
        text: say('problem.engine_not_ready', { node: name, why: asParam(why) }),
        nodeId: id,
        mend: 'edit_node'
      })
    ]
  })
}

/** Warns if the syslog server does not respond, because users who rely on the external copy must know that it lags. */
export function auditProblems(away: SyslogAway | null): Problem[] {
  if (away === null) return []
  const { sinceMs, ...of } = away
  const text = say('problem.syslog_away', of)
  return [problem({ id: 'syslog', severity: 'warning', title: say('problem_title.syslog_away'), text, sinceMs })]
}

/** Warns if the shared cache does not respond. Without the cache, the engines act separately. */
export function cacheProblems(cache: CacheState | null): Problem[] {
  if (cache === null || cache.isUp || cache.reason === null) return []
  const { name, reason, sinceMs } = cache
  const text = say('problem.cache_away', { name, reason })
  return [problem({ id: 'cache', severity: 'warning', title: say('problem_title.cache_away'), text, sinceMs })]
}

export function blobProblems({ problem: reason, sinceMs, disk, engine, apart, name: place }: BlobsState): Problem[] {
  const found: Problem[] = []
  if (reason !== null) {
    const text = say('problem.blobs_away', { reason })
    found.push(problem({ id: 'blobs', severity: 'error', title: say('problem_title.blobs_away'), text, sinceMs }))
  }
  const low = disk === null ? null : howLow(disk)
  if (disk !== null && low !== null) {
    const { freeBytes, totalBytes } = disk
    const text = say('problem.blobs_full', { freeBytes, totalBytes, place })
    found.push(problem({ id: 'blobs:disk', severity: low, title: say('problem_title.blobs_full'), text }))
  }
  if (apart.length > 0) {
    // All engines show this problem, so it also names the engine that found it.
    const places = [{ engine, place }, ...apart].map((one) => `${one.engine}: ${one.place}`)
    const text = say('problem.blobs_differ', { places })
    found.push(problem({ id: 'blobs:apart', severity: 'error', title: say('problem_title.blobs_differ'), text }))
  }
  return found
}

/** Nodes disagree about the order of a project's versions. `text` explains why. */
export interface OrderWarning {
  project: ProjectName
  text: string
}

export function versionOrderProblems(warnings: readonly OrderWarning[]): Problem[] {
  return warnings.map(({ project, text }) =>
    problem({
      id: `version-order:${project}`,
      severity: 'warning',
      title: say('problem_title.versions_disagree', { project }),
      text: plain(text),
      project,
      mend: 'open_project'
    })
  )
}

export function discoveryProblems(sources: readonly SourceState[]): Problem[] {
  return sources.flatMap(({ id: source, problem: why, vanishedNodes }) => {
    const cordoned = vanishedNodes.filter(({ isCordonedForIt }) => isCordonedForIt)
    const nodes = cordoned.length
    const common = { severity: 'warning', mend: 'open_discovery' } as const
    const problems: Problem[] = []
    if (why !== null) {
      const title = say('problem_title.source_fails', { source })
      problems.push(problem({ ...common, id: `discovery:${source}`, title, text: plain(why) }))
    }
    if (nodes > 0) {
      const title = say('problem_title.nodes_vanished', { source, nodes })
      const text = say('problem.nodes_vanished', { nodes })
      const sinceMs = Math.min(...cordoned.map((node) => node.sinceMs))
      problems.push(problem({ ...common, id: `vanished:${source}`, title, text, sinceMs }))
    }
    return problems
  })
}
