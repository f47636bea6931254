import type { Change, Node } from '../../shared/contract/index.ts'
import { aProjectName } from '../../shared/testing/ids.ts'
import { SPIDERS } from './fake-fleet.ts'
import { fakeUsage } from './fake-local-node.ts'
import type { FakeWorld } from './fake-world.ts'

/** Simulates one step: one job starts, one progresses, one ends and one is queued. */
export function letTimePass({ jobs, nodes, random, emit, figures, save, saveNode, nodeOf, queueJob }: FakeWorld): void {
  const all = [...jobs.values()]
  const running = all.filter((job) => job.status === 'running')
  for (const job of running.slice(0, 6))
    save({
      ...job,
      pages: (job.pages ?? 0) + Math.floor(random() * 30),
      items: (job.items ?? 0) + Math.floor(random() * 9)
    })
  const ending = running[Math.floor(random() * running.length)]
  const waiting = all.filter((job) => job.status === 'queued')[0]
  if (ending?.nodeId && waiting) {
    const failed = random() < 0.2
    save({
      ...ending,
      state: 'ended',
      status: failed ? 'failed' : 'succeeded',
      outcome: failed ? 'failed' : 'succeeded',
      reason: 'finished',
      endedAtMs: Date.now()
    })
    const node = nodeOf(ending.nodeId)
    save({
      ...waiting,
      state: 'running',
      status: 'running',
      waiting: null,
      nodeId: node.id,
      attemptCount: 1,
      startedAtMs: Date.now()
    })
    const runs = [
      ...node.runs.filter((run) => run.jobId !== ending.id),
      {
        jobId: waiting.id,
        jobid: waiting.jobid,
        project: waiting.project,
        spider: waiting.spider,
        state: 'running' as const,
        sinceMs: Date.now(),
        pid: null,
        usage: null
      }
    ]
    saveNode({ ...node, runs, running: runs.length, lastSeenAtMs: Date.now() })
    const project = Object.keys(SPIDERS)[Math.floor(random() * 4)] as string
    queueJob({ project: aProjectName(project), spider: (SPIDERS[project] as string[])[0] as string })
  }
  for (const node of nodes.values()) {
    if (node.health === 'up') nodes.set(node.id, { ...node, runs: withUsage(node), lastSeenAtMs: Date.now() })
  }
  emit(...[...nodes.values()].map((node): Change => ({ kind: 'node', node })))
  emit({ kind: 'figures', figures: figures() })
}

function withUsage({ kind, runs }: Node): Node['runs'] {
  if (kind !== 'local') return runs
  return runs.map((run) => ({
    ...run,
    usage: (run.sinceMs !== null && fakeUsage(run.jobid, run.sinceMs, Date.now()).at(-1)) || null
  }))
}
