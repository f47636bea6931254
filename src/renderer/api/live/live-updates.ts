import type { Change } from '../../../shared/contract/index.ts'
import type { Api } from '../api.tsx'
import { NOUN_OF, type Noun } from './change-nouns.ts'
import { jobs } from './jobs.ts'
import { nodes } from './nodes.ts'
import { projects } from './projects.ts'
import { type NounUpdates, patch, type QueryUpdate, refetch } from './query-updates.ts'
import { schedules } from './schedules.ts'
import { system } from './system.ts'

export type LiveUpdates = { readonly [N in Noun]: NounUpdates<N> }

/** Which cached results a change of each noun affects, and how. */
export const LIVE_UPDATES = {
  jobs,
  nodes,
  projects,
  schedules,
  system,
  environments: {
    thingOf: () => 'all',
    updates: (changes, { environments }) =>
      changes.map((change) => patch(environments.list, () => ({ environments: change.environments })))
  },
  queue: outdates(({ queue }) => refetch(queue.limits, queue.lanes)),
  discovery: outdates(({ discovery }) => refetch(discovery.list)),
  chains: outdates(({ chains }) => refetch(chains.list)),
  errors: outdates(({ errors }) => refetch(errors.list, errors.get, errors.ofJob)),
  findings: outdates(({ findings }) => refetch(findings.list, findings.ofJob)),
  storage: outdates(({ storage }) => refetch(storage.usage, storage.policy)),
  webhooks: outdates(({ webhooks, alertChannels }) => refetch(webhooks.list, webhooks.deliveries, alertChannels.list)),
  alerts: outdates(({ alerts, alertRules, alertSilences, alertChannels }) =>
    refetch(alerts.list, alerts.notices, alertRules.list, alertSilences.list, alertChannels.list, alertChannels.names)
  )
} as const satisfies LiveUpdates

/** Keeps only the newest of several changes of one thing. */
export function newestOfEach(changes: readonly Change[]): Change[] {
  const newest = new Map<string, Change>()
  for (const change of changes) {
    const noun = NOUN_OF[change.kind]
    const thing = `${noun} ${updatesOf(noun).thingOf(change)}`
    newest.delete(thing)
    newest.set(thing, change)
  }
  return [...newest.values()]
}

export function queryUpdates(changes: readonly Change[], query: Api['query']): QueryUpdate[] {
  const byNoun = Map.groupBy(changes, ({ kind }) => NOUN_OF[kind])
  return [...byNoun].flatMap(([noun, ofNoun]) => updatesOf(noun).updates(ofNoun, query))
}

const updatesOf = (noun: Noun) => LIVE_UPDATES[noun] as NounUpdates<Noun>

/** For a noun whose changes carry no data. */
function outdates(updates: (query: Api['query']) => QueryUpdate[]) {
  return { thingOf: () => 'all', updates: (_changes: readonly unknown[], query: Api['query']) => updates(query) }
}
