import { timeOfJobId } from '../../../../shared/ids.ts'
import type { AlertRule, ProjectName, Waiting } from '../../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../../shared/alert-watches.ts'
import { encode, type Message, say, waitingMessage } from '../../../../shared/texts/message.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import type { NodeId } from '../../../../shared/contract/index.ts'
import { parseLane } from '../../../model/lane.ts'
import {
  type QueueHead,
  type StoredErrorGroup,
  type StoredJob,
  whyFailed,
  type WhyFailed
} from '../../../model/records.ts'
import type { ErrorGroupPage, ErrorStore, FindingStore, JobReader, LaneReader } from '../../../storage/store.ts'
import { type Signal, NO_LABELS, spiderSubject } from '../signal.ts'

export const RUNS_READ = 20
const LANES_READ = 20_000
const LANES_AT_ONCE = 1_000
const ERRORS_AT_ONCE = 500
const ERRORS_READ = 20_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

interface Nodes {
  nodeOf: (id: NodeId) => FleetNode['stored'] | undefined
}

interface OneSpider {
  project: ProjectName
  spider: string
}

/** Resolves to the newest runs, newest first, except cancelled runs and runs with an unclear outcome. */
export function newestRuns(store: JobReader, { project, spider }: OneSpider, limit: number): Promise<StoredJob[]> {
  const status: ('succeeded' | 'failed' | 'lost')[] = ['succeeded', 'failed', 'lost']
  return store.listJobs({ project, spider, status }, { before: null, limit })
}

export const spiderSignals = async (store: JobReader, spider: OneSpider, nodes: Nodes): Promise<Signal[]> =>
  signalsOfRuns(await newestRuns(store, spider, RUNS_READ), nodes)

export type RunRow = Pick<
  StoredJob,
  ('id' | 'project' | 'spider' | 'nodeId' | 'outcome' | 'items' | 'errors') | ('queuedAtMs' | 'endedAtMs')
> &
  WhyFailed

/** `runs` belong to one spider and are sorted newest first. */
export function signalsOfRuns(runs: readonly RunRow[], { nodeOf }: Nodes): Signal[] {
  const [newest] = runs
  if (newest === undefined) return []
  const { project, spider, id, nodeId, outcome, items, errors, endedAtMs, queuedAtMs } = newest
  const firstGood = runs.findIndex((run) => run.outcome === 'succeeded')
  const inARow = firstGood === -1 ? runs.length : firstGood
  const labels = { ...NO_LABELS, project, spider, jobId: id, nodeId, nodeTags: nodeOf(nodeId as NodeId)?.tags ?? [] }
  const signals: Signal[] = []
  const add = (watch: AlertWatch, value: number, text: Message) =>
    signals.push({
      watch,
      key: `${project}/${spider}`,
      value,
      sinceMs: endedAtMs ?? queuedAtMs,
      subject: spiderSubject({ project, spider }),
      text: encode(text),
      labels
    })
  const isLost = outcome === 'lost'
  const bad = { project, spider, isLost, times: inARow, hasMore: inARow === RUNS_READ, why: whyFailed(newest) }
  add(
    'spider_fails',
    inARow,
    inARow === 0 ? say('alert.spider_succeeded', { project, spider }) : say('alert.spider_fails', bad)
  )
  if (isLost) return signals
  if (items !== null) add('spider_items', items, say('alert.spider_items', { project, spider, items }))
  if (errors !== null) add('spider_errors', errors, say('alert.spider_errors', { project, spider, errors }))
  return signals
}

/** Returns one signal per lane, for its first job, which usually waits longest. */
export async function waitingSignals(
  store: LaneReader,
  waitingOf: (lane: string) => Waiting,
  nodes: Nodes
): Promise<Signal[]> {
  const lanes = (await store.listLanes()).slice(0, LANES_READ)
  const heads: QueueHead[][] = []
  for (let at = 0; at < lanes.length; at += LANES_AT_ONCE) {
    const some = lanes.slice(at, at + LANES_AT_ONCE)
    heads.push(...(await store.readHeads(some.map(({ lane }) => ({ lane, limit: 1 })))))
  }
  return lanes.flatMap(({ lane }, at): Signal[] => {
    const head = heads[at]![0]
    if (head === undefined) return []
    const { project, spider, placement } = parseLane(lane)
    const { nodeId } = placement
    return [
      {
        watch: 'job_waits_long',
        key: lane,
        value: 1,
        sinceMs: timeOfJobId(head.id),
        subject: spiderSubject({ project, spider }),
        text: encode(say('alert.job_waits_long', { project, spider, waiting: waitingMessage(waitingOf(lane)) })),
        labels: {
          ...NO_LABELS,
          project,
          spider,
          jobId: head.id,
          nodeId,
          nodeTags: (nodeId && nodes.nodeOf(nodeId)?.tags) || []
        }
      }
    ]
  })
}

export async function errorSignals(store: ErrorStore, nowMs: number): Promise<Signal[]> {
  const sinceMs = nowMs - DAY_MS
  const signals: Signal[] = []
  let before: ErrorGroupPage['before'] = null
  for (let read = 0; read < ERRORS_READ; read += ERRORS_AT_ONCE) {
    const groups = await store.listErrorGroups({ state: 'open' }, { before, limit: ERRORS_AT_ONCE, sinceMs })
    signals.push(...groups.filter((group) => bornMs(group) >= sinceMs).map(errorSignalOf))
    const last = groups.at(-1)
    if (last === undefined || groups.length < ERRORS_AT_ONCE || last.lastSeenMs < sinceMs) break
    before = { lastSeenMs: last.lastSeenMs, id: last.id }
  }
  return signals
}

export function errorSignalOf(group: StoredErrorGroup): Signal {
  const { id, project, title, culprit, jobCount, reopenedAtMs } = group
  return {
    watch: 'error_appears',
    key: String(id),
    value: jobCount,
    sinceMs: bornMs(group),
    subject: encode(say('alert_subject.error', { project, title })),
    text: encode(say('alert.error_appears', { project, title, culprit, isBack: reopenedAtMs !== null })),
    labels: { ...NO_LABELS, project, errorGroupId: id }
  }
}

export const bornMs = ({ firstSeenMs, reopenedAtMs }: Pick<StoredErrorGroup, 'firstSeenMs' | 'reopenedAtMs'>): number =>
  Math.max(firstSeenMs, reopenedAtMs ?? 0)

/** If a spider has never succeeded, the wait counts from the creation of the first rule that expects a success. */
export async function overdueSignals(
  store: FindingStore,
  rules: readonly AlertRule[],
  nowMs: number
): Promise<Signal[]> {
  const wanted = rules.filter(({ enabled, watch }) => enabled && watch === 'spider_overdue')
  const byAge = wanted.toSorted((one, other) => other.createdAtMs - one.createdAtMs)
  const spiders = new Map(byAge.map((rule) => [`${rule.project}/${rule.spider}`, rule]))
  const signals: Signal[] = []
  for (const [key, rule] of spiders) {
    const of = { project: rule.project!, spider: rule.spider! }
    const [run] = await store.listSuccessfulRuns(of.project, of.spider, { upTo: null, limit: 1 })
    const sinceMs = run?.endedAtMs ?? rule.createdAtMs
    signals.push({
      watch: 'spider_overdue',
      key,
      value: Math.floor((nowMs - sinceMs) / HOUR_MS),
      sinceMs,
      subject: spiderSubject(of),
      text: encode(say('alert.spider_overdue', { ...of, hasSucceeded: run !== undefined })),
      labels: { ...NO_LABELS, ...of, jobId: run?.jobId ?? null }
    })
  }
  return signals
}
