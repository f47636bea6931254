import type { ProjectName, Problem } from '../../shared/contract/index.ts'
import type { FleetNode } from '../nodes/fleet.ts'
import { UNRELATED } from './unrelated.ts'

/** Engines that have run under one name for so long that none of them is left from before a restart. */
export interface NamesakeEngines {
  name: string
  addresses: readonly string[]
  sinceMs: number
}

/** Runs would be looked for at the wrong one of them, and only one has its local node in the fleet. Pure. */
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

/** Whoever can listen on the network between can read passwords and sessions. Pure. */
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

/** A role that options of this engine give to groups from elsewhere. */
export interface MissingRole {
  name: string
  options: readonly string[]
}

/** Members of the groups get nothing by them. Pure. */
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

/** Whoever can upload an egg has the rights of Scrapdeck. Pure. */
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

/** A project that no one knows has no Python of its own. */
const ANY_PROJECT = '' as ProjectName

/** Local nodes of engines that can start nothing, because there is no Python with Scrapy on their machines. Pure. */
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
