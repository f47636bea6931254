import type { Attempt, LimitRule } from '../../src/shared/contract/index.ts'
import type { StoredJob } from '../../src/engine/model/records.ts'
import type { Belief, History, Violation } from '../work/history.ts'

/**
 * How long after a command the old state is still allowed, because the engine may be carrying out a plan from just
 * before the command.
 */
const GRACE_MS = 2_000

interface NodeBelief {
  slots: number | null
  queueAhead: number
  tags: string[]
  mode: string
}

interface LiveBelief {
  attempt: Attempt
  isFinishing: boolean
}

/**
 * Checks each send against what the engine then knew about its nodes (I2, I3, limits, paused nodes, overlap).
 *
 * I3: when an attempt starts on a node, all our live attempts there (excluding those that the node has finished)
 * plus all other jobs in its newest lists are at most slots + queueAhead. If no operator has set the node's slots,
 * they are its max_proc, and the engine may send one more job to learn them.
 */
export function checkSends(history: History): Violation[] {
  const violations: Violation[] = []
  const jobs = new Map(history.jobs.map((job) => [job.id, job]))
  const live = new Map<string, LiveBelief>()
  const all = new Map<string, Attempt>()
  const nodes = new Map<string, { now: NodeBelief; before: NodeBelief; changedAtMs: number }>()
  const listed = new Map<string, string[]>()
  let rules: { now: LimitRule[]; before: LimitRule[]; changedAtMs: number } = { now: [], before: [], changedAtMs: 0 }
  const shared = new Set(
    history.scenario.nodes.flatMap(({ name, sharesQueueWith }) =>
      sharesQueueWith === null ? [] : [name, sharesQueueWith]
    )
  )

  for (const belief of history.beliefs) apply(belief)
  return violations

  function apply(belief: Belief): void {
    switch (belief.kind) {
      case 'life':
        listed.clear()
        return
      case 'listed':
        listed.set(belief.host, belief.jobids)
        return
      case 'node': {
        const { id, slots, queueAhead, tags, mode, atMs } = belief
        const now = { slots, queueAhead, tags, mode }
        nodes.set(id, { now, before: nodes.get(id)?.now ?? now, changedAtMs: atMs })
        return
      }
      case 'limits':
        rules = { now: belief.rules, before: rules.now, changedAtMs: belief.atMs }
        return
      case 'over': {
        // The job's slot is free from now on, even if recording the end fails, for example because the disk is full.
        const one = live.get(`${belief.jobId}/${belief.number}`)
        if (one !== undefined) one.isFinishing = true
        return
      }
      case 'changed': {
        const key = `${belief.jobId}/${belief.number}`
        const again = belief.what === 'found_again' ? all.get(key) : undefined
        if (belief.to === 'ended') live.delete(key)
        else if (again !== undefined) live.set(key, { attempt: again, isFinishing: belief.to === 'finishing' })
        else if (belief.to === 'finishing' && live.has(key)) live.get(key)!.isFinishing = true
        return
      }
      case 'begun':
        for (const attempt of belief.attempts) begin(attempt, belief.atMs)
    }
  }

  function begin(attempt: Attempt, atMs: number): void {
    const job = jobs.get(attempt.jobId)
    const complain = (rule: string, text: string) => violations.push({ rule, jobId: attempt.jobId, text })
    const others = [...live.values()]
    if (others.some((one) => one.attempt.jobId === attempt.jobId)) {
      complain('one live attempt', `attempt ${attempt.number} began while another was live`)
    }
    live.set(`${attempt.jobId}/${attempt.number}`, { attempt, isFinishing: false })
    all.set(`${attempt.jobId}/${attempt.number}`, attempt)
    const node = nodes.get(attempt.nodeId)
    const isSettled = node !== undefined && atMs - node.changedAtMs > GRACE_MS
    if (isSettled && node.now.mode !== 'active')
      complain('cordon', `sent to ${attempt.nodeId}, which is ${node.now.mode}`)
    if (job !== undefined) checkOverlap(job, others, complain)
    if (node !== undefined) checkRoom(attempt, node, atMs, complain)
    if (atMs - rules.changedAtMs > GRACE_MS) for (const rule of rules.now) checkLimit(rule, attempt, complain)
  }

  function checkRoom(
    attempt: Attempt,
    node: { now: NodeBelief; before: NodeBelief; changedAtMs: number },
    atMs: number,
    complain: (rule: string, text: string) => void
  ): void {
    const host = history.hosts.get(attempt.nodeId)!
    if (shared.has(host)) return
    const maxProc = history.scenario.nodes.find(({ name }) => name === host)?.maxProc ?? Number.POSITIVE_INFINITY
    const room = ({ slots, queueAhead }: NodeBelief) =>
      slots === null ? maxProc + Math.max(1, queueAhead) : slots + queueAhead
    const most = atMs - node.changedAtMs > GRACE_MS ? room(node.now) : Math.max(room(node.now), room(node.before))
    const ours = [...live.values()].filter((one) => one.attempt.nodeId === attempt.nodeId && !one.isFinishing)
    const jobids = new Set(ours.map((one) => one.attempt.jobid))
    const strangers = (listed.get(host) ?? []).filter((jobid) => !jobids.has(jobid))
    // Our own jobs that ended after the node listed them are not strangers either.
    const surely = strangers.filter((jobid) => !isOurs(jobid))
    if (ours.length + surely.length > most) {
      complain(
        'room on a node',
        `${ours.length} of ours and ${surely.length} strangers on ${attempt.nodeId}, which has room for ${most}`
      )
    }
  }

  function isOurs(jobid: string): boolean {
    return /^[0-9a-f]{32}(-\d+)?$/.test(jobid)
  }

  function checkLimit(rule: LimitRule, attempt: Attempt, complain: (rule: string, text: string) => void): void {
    const applies = (one: Attempt) =>
      (rule.project === null || matches(rule.project, one.project)) &&
      (rule.spider === null || matches(rule.spider, one.spider)) &&
      (rule.tag === null || nodes.get(one.nodeId)?.now.tags.includes(rule.tag) === true) &&
      (!rule.perNode || one.nodeId === attempt.nodeId)
    if (!applies(attempt)) return
    const count = [...live.values()].filter((one) => !one.isFinishing && applies(one.attempt)).length
    if (count > rule.max) complain('limit', `${count} live where ${JSON.stringify(rule)} holds`)
  }

  function checkOverlap(job: StoredJob, others: LiveBelief[], complain: (rule: string, text: string) => void): void {
    if (!job.noOverlap) return
    for (const { attempt } of others) {
      const other = jobs.get(attempt.jobId)
      if (other === undefined || other.id === job.id || !other.noOverlap) continue
      if (overlapKey(other) === overlapKey(job)) complain('overlap', `sent while ${other.id} is live`)
    }
  }
}

export function overlapKey(job: Pick<StoredJob, 'project' | 'spider' | 'args'>): string {
  return JSON.stringify([job.project, job.spider, Object.entries(job.args).sort()])
}

function matches(pattern: string, text: string): boolean {
  const source = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${source.join('.*')}$`).test(text)
}
