import type { UsageSample } from '../../../../shared/contract/index.ts'
import type { ProcessIdentity } from '../../../runtime/process-identity.ts'
import type { ProcessRow } from '../processes/process-table.ts'

export interface RunProcesses {
  child: ProcessIdentity
  /**
   * The process that waits for the child and inherits the child's orphans. Its own usage does not count. null:
   * shared with other runs.
   */
  supervisor: ProcessIdentity | null
  /** pid -> start time, from the last pass. Used to find a process that lost its parents and left its group. */
  members: Map<number, string>
}

export interface RunUsage {
  memoryBytes: number
  /** CPU time of all processes, including ended ones that a parent waited for. */
  cpuSeconds: number
  processes: number
}

/**
 * Sums the usage of each run: its child, the child's session and group, all their descendants, orphans that its
 * supervisor inherited, and the members from the last pass. Pure, except that it updates `members`.
 */
export function sumUsage<T extends RunProcesses>(rows: readonly ProcessRow[], runs: readonly T[]): Map<T, RunUsage> {
  const byPid = new Map(rows.map((row) => [row.pid, row]))
  const ofLeader = new Map(runs.map((run) => [run.child.pid, run]))
  const ofSupervisor = new Map(runs.flatMap((run) => (run.supervisor === null ? [] : [[run.supervisor.pid, run]])))
  const ofMember = new Map(runs.flatMap((run) => [...run.members].map(([pid, time]) => [`${pid} ${time}`, run])))
  const owners = new Map<number, T | null>()

  function ownerOf(row: ProcessRow): T | null {
    const known = owners.get(row.pid)
    if (known !== undefined) return known
    // Set before the parents are followed. The process table is not read in one instant, so parents can form a cycle.
    owners.set(row.pid, null)
    const owner = findOwner(row)
    owners.set(row.pid, owner)
    return owner
  }

  function findOwner(row: ProcessRow): T | null {
    if (ofSupervisor.has(row.pid)) return null
    const own = ofLeader.get(row.pid)
    if (own !== undefined) return isSame(row, own.child) ? own : null
    const parent = byPid.get(row.parentPid)
    return (
      ofMember.get(`${row.pid} ${row.startTime}`) ??
      ofLeader.get(row.sessionId) ??
      ofLeader.get(row.groupId) ??
      ofSupervisor.get(row.parentPid) ??
      (parent === undefined ? null : ownerOf(parent))
    )
  }

  const usage = new Map(runs.map((run) => [run, { memoryBytes: 0, cpuSeconds: 0, processes: 0 }]))
  const members = new Map(runs.map((run) => [run, new Map<number, string>()]))
  for (const row of rows) {
    const reaper = ofSupervisor.get(row.pid)
    if (reaper !== undefined) usage.get(reaper)!.cpuSeconds += row.childrenCpuSeconds
    const run = ownerOf(row)
    if (run === null) continue
    const sum = usage.get(run)!
    sum.memoryBytes += row.memoryBytes
    sum.cpuSeconds += row.cpuSeconds + row.childrenCpuSeconds
    sum.processes += 1
    members.get(run)!.set(row.pid, row.startTime)
  }
  for (const [run, seen] of members) run.members = seen
  return usage
}

/** On Linux, the start time of an identity is `boot:ticks`, but a table row has only the ticks. */
function isSame(row: ProcessRow, identity: ProcessIdentity): boolean {
  if (row.startTime === '' || identity.startTime === '') return true
  return identity.startTime.split(':').at(-1) === row.startTime
}

/** The maximum number of samples: one hour at one sample per 2 s. */
export const SAMPLES_KEPT = 1800

/**
 * A run's usage in bounded memory. When the history is full, neighboring samples are merged (larger memory, mean CPU
 * share).
 */
export class UsageHistory {
  #samples: UsageSample[] = []
  #stride = 1
  #pending: UsageSample[] = []
  newest: UsageSample | null = null

  add(sample: UsageSample): void {
    this.newest = sample
    this.#pending.push(sample)
    if (this.#pending.length < this.#stride) return
    this.#samples.push(merged(this.#pending))
    this.#pending = []
    if (this.#samples.length < SAMPLES_KEPT) return
    this.#samples = this.#samples.flatMap((one, index, all) => (index % 2 === 0 ? [] : merged([all[index - 1]!, one])))
    this.#stride *= 2
  }

  /** Oldest first. Includes the newest pending sample, unmerged. */
  list(): UsageSample[] {
    return this.#pending.length === 0 ? [...this.#samples] : [...this.#samples, this.#pending.at(-1)!]
  }
}

function merged(samples: UsageSample[]): UsageSample {
  const last = samples.at(-1)!
  return {
    atMs: last.atMs,
    memoryBytes: Math.max(...samples.map((one) => one.memoryBytes)),
    cpuShare: samples.reduce((sum, one) => sum + one.cpuShare, 0) / samples.length,
    processes: Math.max(...samples.map((one) => one.processes))
  }
}
