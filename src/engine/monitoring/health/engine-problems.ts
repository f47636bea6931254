import type { ProjectName, Problem, SourceState } from '../../../shared/contract/index.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { UNRELATED } from './unrelated.ts'
import type { SyslogAway } from '../../access/audit/syslog.ts'
import type { CacheState } from '../../cluster/cache/shared-cache.ts'
import type { BlobsState } from './blob-watch.ts'
import { gigabytes, howLow } from './storage-problems.ts'

/** Engines that have shared a name for so long that none of them can be a leftover from before a restart. */
export interface NamesakeEngines {
  name: string
  addresses: readonly string[]
  sinceMs: number
}

/** Runs would be searched on the wrong engine, and only one has its local node in the fleet. Pure. */
export function namesakeEngineProblems(namesakes: readonly NamesakeEngines[]): Problem[] {
  return namesakes.map(({ name, addresses, sinceMs }) => ({
    ...UNRELATED,
    id: `engines:${name}`,
    severity: 'error',
    title: `${addresses.length} engines are named ${name}`,
    text: `They run at ${addresses.join(', ')}, and only the one started last has a local node in the fleet. Set engine_name to a name of its own on each`,
    sinceMs,
    mend: null
  }))
}

/** An eavesdropper on the network could read passwords and sessions. Pure. */
export function plainHttpProblems(address: string | null): Problem[] {
  if (address === null) return []
  return [
    {
      ...UNRELATED,
      id: 'plain-http',
      severity: 'warning',
      title: 'The service is reachable over plain HTTP',
      text: `It listens on ${address} without TLS, so passwords and sessions can be intercepted. Set tls_certificate and tls_key, or put a proxy with TLS in front and set behind_proxy`,
      mend: null
    }
  ]
}

/** A role that options of this engine grant to external groups. */
export interface MissingRole {
  name: string
  options: readonly string[]
}

/** Members of the groups get no rights from them. Pure. */
export function missingRoleProblems(roles: readonly MissingRole[]): Problem[] {
  return roles.map(({ name, options }) => ({
    ...UNRELATED,
    id: `role:${name}`,
    severity: 'warning',
    title: `The role ${name} does not exist`,
    text: `${options.join(' and ')} gives it to groups, whose members get nothing by it. Create it under Users & access, or correct the option`,
    mend: null
  }))
}

/** A user who can upload an egg then has the rights of Scrapdeck. Pure. */
export function notApartProblems(why: string | null): Problem[] {
  if (why === null) return []
  return [
    {
      ...UNRELATED,
      id: 'spiders-not-apart',
      severity: 'warning',
      title: 'Spiders are not kept apart',
      text: `Spiders of the local node run with all rights of Scrapdeck (keep_spiders_apart = if-possible): ${why}. Run no code here that you do not trust, or set keep_spiders_apart = off if this is intended`,
      mend: null
    }
  ]
}

/** An unknown project has no Python of its own. */
const ANY_PROJECT = '' as ProjectName

/** Local nodes of engines that can start nothing, because their machines have no Python with Scrapy. Pure. */
export function unreadyEngineProblems(nodes: readonly FleetNode[]): Problem[] {
  return nodes.flatMap(({ stored, status, client }): Problem[] => {
    const takesJobs = stored.kind === 'engine' && stored.mode === 'active' && status.health === 'up'
    const why = takesJobs ? (client.whyNotReady?.(ANY_PROJECT) ?? null) : null
    if (why === null) return []
    return [
      {
        ...UNRELATED,
        id: `engine-python:${stored.id}`,
        severity: 'error',
        title: `${stored.name} cannot run spiders yet`,
        text: `${stored.name} ${why}`,
        nodeId: stored.id,
        mend: 'edit_node'
      }
    ]
  })
}

/** Users who rely on the external copy must know that it is behind. Pure. */
export function auditProblems(away: SyslogAway | null): Problem[] {
  if (away === null) return []
  const { address, reason, sinceMs } = away
  return [
    {
      ...UNRELATED,
      id: 'syslog',
      severity: 'warning',
      title: 'The audit log cannot be sent to the syslog server',
      text: `${address}: ${reason.replace(/\.$/, '')}. Entries are kept here and sent when the server is back. Check that it runs, and audit_syslog`,
      sinceMs,
      mend: null
    }
  ]
}

/** Without the shared cache nothing is wrong, but several engines no longer act as one. Pure. */
export function cacheProblems(cache: CacheState | null): Problem[] {
  if (cache === null || cache.isUp || cache.reason === null) return []
  const effects =
    'Until it serves again, this engine counts rate limits alone, accepts the sessions that it knows, and answers without the cache'
  return [
    {
      ...UNRELATED,
      id: 'cache',
      severity: 'warning',
      title: 'The shared cache is away',
      text: `${cache.name}: ${cache.reason}. ${effects}`,
      sinceMs: cache.sinceMs,
      mend: null
    }
  ]
}

/** What is wrong with the storage of eggs, archived logs and items, wherever it is. Pure. */
export function blobProblems({ problem, sinceMs, disk, engine, apart, name }: BlobsState): Problem[] {
  const found: Problem[] = []
  const add = (id: string, severity: Problem['severity'], title: string, text: string, sinceMs: number | null = null) =>
    found.push({ ...UNRELATED, id, severity, title, text, sinceMs, mend: null })
  if (problem !== null) {
    const effects =
      'Until then, uploads fail, ended runs wait for their logs to be archived, and archived logs cannot be read'
    add('blobs', 'error', 'The storage of eggs and logs cannot be used', `${asSentence(problem)} ${effects}`, sinceMs)
  }
  const low = disk === null ? null : howLow(disk)
  if (disk !== null && low !== null) {
    const rest = `${gigabytes(disk.freeBytes)} of ${gigabytes(disk.totalBytes)} are free at ${name}`
    const text = `${rest}. Free space there, or shorten the retention`
    add('blobs:disk', low, 'The storage of eggs and logs is almost full', text)
  }
  if (apart.length > 0) {
    // All engines show it, so it also names the one that checked.
    const places = [{ engine, place: name }, ...apart].map(({ engine, place }) => `${engine}: ${place}`).join('; ')
    const text = `${places}. What one of them stored is missing while another leads. Give all engines the same blobs`
    add('blobs:apart', 'error', 'Engines keep eggs and logs in different places', text)
  }
  return found
}

const asSentence = (text: string) => (text.endsWith('.') ? text : `${text}.`)

/** Nodes order the versions of a project differently; `text` explains why. */
export interface OrderWarning {
  project: ProjectName
  text: string
}

export function versionOrderProblems(warnings: readonly OrderWarning[]): Problem[] {
  return warnings.map(({ project, text }) => ({
    id: `version-order:${project}`,
    severity: 'warning',
    title: `Nodes disagree on the latest version of ${project}`,
    text,
    ...{ sinceMs: null, nodeId: null, project, spider: null },
    mend: 'open_project'
  }))
}

/** Node sources that fail, and nodes that are no longer listed: Scrapdeck cordoned them, not an operator. */
export function discoveryProblems(sources: readonly SourceState[]): Problem[] {
  return sources.flatMap(({ id, problem, vanishedNodes }) => {
    const cordoned = vanishedNodes.filter(({ isCordonedForIt }) => isCordonedForIt)
    const common = { severity: 'warning', nodeId: null, project: null, spider: null, mend: 'open_discovery' } as const
    const problems: Problem[] = []
    if (problem !== null) {
      const title = `The node source ${id} has a problem`
      problems.push({ ...common, id: `discovery:${id}`, title, text: problem, sinceMs: null })
    }
    if (cordoned.length > 0) {
      const isOne = cordoned.length === 1
      const title = `${id} no longer lists ${isOne ? 'a node' : `${cordoned.length} nodes`}`
      const text = isOne
        ? 'It is cordoned and gets jobs again once the source lists it. Remove it if it is gone for good.'
        : 'They are cordoned and get jobs again once the source lists them. Remove them if they are gone for good.'
      const sinceMs = Math.min(...cordoned.map((node) => node.sinceMs))
      problems.push({ ...common, id: `vanished:${id}`, title, text, sinceMs })
    }
    return problems
  })
}
