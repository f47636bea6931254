import { NOUN_OF } from '../../../shared/contract/change-nouns.ts'
import type { Change, NodeId, Figures, SystemStatus } from '../../../shared/contract/index.ts'
import type { Api } from '../api.tsx'
import { jobs } from './jobs.ts'
import { type Noun, type NounUpdates, patch, type QueryUpdate, refetch, mergeList } from './query-updates.ts'
import { schedules } from './schedules.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'

const SAMPLE_EVERY_MS = 10_000
const SAMPLES_KEPT = 360

const system: NounUpdates<'system'> = {
  thingOf: ({ kind }) => kind,
  updates: (changes, query) => {
    const news: Partial<SystemStatus> = Object.assign({}, ...changes.map(({ kind: _kind, ...part }) => part))
    const { figures } = news
    const status = patch(query.system.status, (data) => ({ ...data, ...news }))
    if (figures === undefined) return [status]
    return [status, patch(query.system.history, (data) => ({ samples: addSample(data.samples, figures) }))]
  }
}

/** The last sample always holds the newest figures. Every 10 s, a new sample is added. */
function addSample(samples: readonly Figures[], figures: Figures): Figures[] {
  const [before, last] = [samples.at(-2), samples.at(-1)]
  if (last && figures.sampledAtMs < last.sampledAtMs) return [...samples]
  const replaces = before !== undefined && last !== undefined && last.sampledAtMs - before.sampledAtMs < SAMPLE_EVERY_MS
  return [...(replaces ? samples.slice(0, -1) : samples), figures].slice(-SAMPLES_KEPT)
}

const nodes: NounUpdates<'nodes'> = {
  thingOf: (change) => (change.kind === 'node' ? change.node.id : change.id),
  updates: (changes, query) => {
    const byId = new Map(
      changes.map((change) => (change.kind === 'node' ? [change.node.id, change.node] : [change.id, null]))
    )
    return [
      patch(query.nodes.list, (data) => ({ ...data, nodes: mergeList(data.nodes, byId, ({ id }) => id) })),
      patch(query.nodes.get, (data, { id }) => byId.get(id as NodeId) ?? data),
      ...(byId.has(LOCAL_NODE_ID) ? refetch(query.jobs.running) : [])
    ]
  }
}

const projects: NounUpdates<'projects'> = {
  thingOf: (change) => (change.kind === 'project' ? change.project.name : change.name),
  updates: (changes, query) => {
    const byName = new Map(
      changes.map((change) => (change.kind === 'project' ? [change.project.name, change.project] : [change.name, null]))
    )
    return [
      patch(query.projects.list, (data) => ({
        ...data,
        projects: mergeList(data.projects, byName, ({ name }) => name)
      })),
      patch(query.projects.get, (data, { project }) => byName.get(project) ?? data)
    ]
  }
}

export type LiveUpdates = { readonly [N in Noun]: NounUpdates<N> }

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

/** Keeps only the newest change to each thing. */
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

/** Updates for changes that carry no data. */
function outdates(updates: (query: Api['query']) => QueryUpdate[]) {
  return { thingOf: () => 'all', updates: (_changes: readonly unknown[], query: Api['query']) => updates(query) }
}
