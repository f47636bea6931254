import { aJobId } from '../../shared/testing/ids.ts'
import { implement } from '@orpc/server'
import {
  contract,
  type Job,
  type LaneSummary,
  type LimitRule,
  type Node,
  type RunItem,
  SECRET_MASK,
  type Waiting
} from '../../shared/contract/index.ts'
import { matchesGlob } from '../../shared/glob.ts'
import type { FakeWorld } from './fake-world.ts'
import { say, waitFor } from '../../shared/texts/message.ts'

export function createFakeQueue(world: FakeWorld) {
  const { jobs, limits, emit, queueJob, saveAll } = world
  const os = implement(contract)

  function changeQueued(ids: readonly string[], change: (job: Job, index: number) => Partial<Job>): string[] {
    const queued = ids.map((id) => jobs.get(aJobId(id))).filter((job) => job?.state === 'queued')
    return saveAll(queued.map((job, index) => ({ ...job!, ...change(job!, index) })))
  }
  const liveOf = (rule: LimitRule) => {
    const live = [...jobs.values()].filter(
      (job) => (job.status === 'starting' || job.status === 'running') && ruleMatches(rule, job, world.nodes)
    )
    if (!rule.perNode) return live.length
    const perNode = new Map<string | null, number>()
    for (const { nodeId } of live) perNode.set(nodeId, (perNode.get(nodeId) ?? 0) + 1)
    return Math.max(0, ...perNode.values())
  }
  const withLive = () => ({ limits: limits.rules.map((rule) => ({ ...rule, live: liveOf(rule) })) })

  /** The waiting reason of a queued job without a hold: its project's pause, a limit, or its previous reason. */
  function waitingOf(job: Job): Waiting {
    if (world.projects.get(job.project)?.settings.paused === true)
      return waitFor('project_paused', { project: job.project })
    const hit = limits.rules.find((rule) => ruleMatches(rule, job, null) && liveOf(rule) >= rule.max)
    if (hit !== undefined) return waitFor('limit', { limit: say('limit.reached', { ...hit, live: liveOf(hit) }) })
    const isPolicy = job.waiting?.code === 'limit' || job.waiting?.code === 'project_paused'
    return job.waiting === null || isPolicy ? waitFor('next_in_line') : job.waiting
  }
  function publishWaiting(): void {
    const changed: Job[] = []
    for (const job of jobs.values()) {
      if (job.state !== 'queued' || job.hold !== null) continue
      const waiting = waitingOf(job)
      if (waiting.text !== job.waiting?.text) changed.push({ ...job, waiting })
    }
    saveAll(changed)
  }

  return {
    publishWaiting,
    jobs: {
      runMany: os.jobs.runMany.handler(({ input }) => {
        const byKey = new Map(
          [...jobs.values()].flatMap(({ dedupeKey, id }) => (dedupeKey === null ? [] : [[dedupeKey, id]]))
        )
        let deduplicated = 0
        const ids = input.jobs.map((item) => {
          const earlier = item.dedupe ? byKey.get(item.dedupe.key) : undefined
          if (earlier !== undefined) {
            deduplicated++
            return earlier
          }
          const { id } = queueJob(jobOfItem(item))
          if (item.dedupe) byKey.set(item.dedupe.key, id)
          return id
        })
        return { ids, deduplicated }
      }),
      count: os.jobs.count.handler(({ input }) => {
        const counts = new Map<string, number>()
        for (const id of input.ids) {
          const status = jobs.get(id)?.status
          if (status !== undefined) counts.set(status, (counts.get(status) ?? 0) + 1)
        }
        return { status: [...counts].map(([value, count]) => ({ value, count })) }
      }),
      setPriority: os.jobs.setPriority.handler(({ input }) => ({
        changed: changeQueued(input.ids, () => ({ priority: input.priority }))
      })),
      reorder: os.jobs.reorder.handler(({ input }) => {
        const { to } = input
        const ranks = [...jobs.values()].filter(({ state }) => state === 'queued').map(({ rank }) => rank)
        const lowest = Math.min(0, ...ranks)
        const highest = Math.max(0, ...ranks)
        const moved = input.ids.length
        if (to === 'front')
          return { changed: changeQueued(input.ids, (_, index) => ({ rank: lowest - moved + index })) }
        if (to === 'back') return { changed: changeQueued(input.ids, (_, index) => ({ rank: highest + 1 + index })) }
        const target = world.jobOf(to.before)
        const above = [...jobs.values()]
          .filter(
            ({ state, priority, rank, id }) =>
              state === 'queued' && priority === target.priority && rank < target.rank && !input.ids.includes(id)
          )
          .reduce((most, { rank }) => Math.max(most, rank), target.rank - 1)
        const step = (target.rank - above) / (moved + 1)
        return {
          changed: changeQueued(input.ids, (_, index) => ({
            priority: target.priority,
            rank: above + (index + 1) * step
          }))
        }
      }),
      place: os.jobs.place.handler(({ input }) => ({
        changed: changeQueued(input.ids, () => ({ placement: { nodeId: input.nodeId, tags: input.tags } }))
      })),
      runElsewhere: os.jobs.runElsewhere.handler(({ input }) => {
        const unknown = input.ids.map((id) => jobs.get(id)).filter((job) => job && job.unknownSinceMs !== null)
        return {
          changed: saveAll(
            unknown.map((job) => ({
              ...job!,
              state: 'queued',
              status: 'queued',
              nodeId: null,
              startedAtMs: null,
              unknownSinceMs: null,
              mayHaveRunTwice: true,
              waiting: waitFor('next_in_line')
            }))
          )
        }
      })
    },
    queue: {
      limits: os.queue.limits.handler(withLive),
      setLimits: os.queue.setLimits.handler(({ input }) => {
        limits.rules = input.limits
        emit({ kind: 'limits' })
        publishWaiting()
        return withLive()
      }),
      lanes: os.queue.lanes.handler(({ input }) => {
        const lanes = new Map<string, LaneSummary>()
        for (const { state, hold, project, spider, waiting, lane: ownLane } of jobs.values()) {
          if (state !== 'queued' || hold !== null) continue
          const lane = ownLane === '' ? `${project} ${spider}` : ownLane
          const before = lanes.get(lane)
          if (before) before.depth++
          else
            lanes.set(lane, {
              lane,
              project,
              spider,
              depth: 1,
              waiting: waiting ?? waitFor('next_in_line')
            })
        }
        const deepest = [...lanes.values()].sort((left, right) => right.depth - left.depth)
        return { lanes: deepest.slice(0, input.limit), total: deepest.length }
      })
    }
  }
}

export function jobOfItem(item: RunItem): Partial<Job> {
  const nowMs = Date.now()
  const masked = (values: Record<string, string> = {}) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, item.secretNames?.includes(name) ? SECRET_MASK : value])
    )
  const notBeforeMs = item.notBeforeMs ?? null
  const isEarly = notBeforeMs !== null && notBeforeMs > nowMs
  const after = item.after ?? []
  return {
    project: item.project,
    version: item.version ?? null,
    spider: item.spider,
    settings: masked(item.settings),
    args: masked(item.args),
    env: masked(item.env),
    secretNames: item.secretNames ?? [],
    limits: item.limits ?? null,
    priority: item.priority ?? 0,
    placement: { nodeId: item.nodeId ?? null, tags: item.tags ?? [] },
    retry: item.retry ?? null,
    notBeforeMs,
    expiresAtMs: item.expiresAtMs ?? null,
    noOverlap: item.noOverlap ?? false,
    userId: item.userId ?? null,
    after,
    dedupeKey: item.dedupe?.key ?? null,
    ...(isEarly
      ? { hold: 'not_before', waiting: { ...waitFor('not_before', { untilMs: notBeforeMs }), untilMs: notBeforeMs } }
      : after.length > 0
        ? {
            hold: 'dependency',
            waiting: waitFor('dependency', { ...after[0]!, others: after.length - 1 })
          }
        : {})
  }
}

function ruleMatches(rule: LimitRule, job: Job, nodes: ReadonlyMap<string, Node> | null): boolean {
  if (!matchesGlob(rule.project, job.project) || !matchesGlob(rule.spider, job.spider)) return false
  if (rule.tag === null || nodes === null) return true
  return job.nodeId !== null && nodes.get(job.nodeId)?.tags.includes(rule.tag) === true
}
