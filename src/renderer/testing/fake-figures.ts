import type { Figures, Job, Node, Problem, PythonState } from '../../shared/contract/index.ts'
import { aProjectName } from '../../shared/testing/ids.ts'
import { problemOf, say, written, writtenAs } from '../../shared/texts/message.ts'

interface Seen {
  jobs: ReadonlyMap<string, Job>
  nodes: ReadonlyMap<string, Node>
  firstRun: boolean
  paused: boolean
  python: PythonState
}

export function fakeFigures(world: Seen): Figures {
  const all = [...world.jobs.values()]
  const up = [...world.nodes.values()]
  const hourAgo = Date.now() - 3_600_000
  const ended = all.filter((job) => job.endedAtMs !== null && job.endedAtMs > hourAgo)
  return {
    sampledAtMs: Date.now(),
    slotsTotal: up.reduce((sum, node) => sum + node.slots, 0),
    slotsUsed: up.reduce((sum, node) => sum + node.runs.length, 0),
    queued: all.filter((job) => job.status === 'queued').length,
    starting: all.filter((job) => job.status === 'starting').length,
    running: all.filter((job) => job.status === 'running').length,
    finishedLastHour: world.firstRun ? ended.length : 18_730,
    failedLastHour: ended.filter((job) => job.outcome === 'failed').length,
    jobsPerMinute: world.firstRun ? 0 : 312,
    loopP99Ms: 2,
    paused: world.paused
  }
}

export function fakeProblems(world: Seen): Problem[] {
  const list: Problem[] = []
  const blank = { sinceMs: Date.now() - 252_000, nodeId: null, project: null, spider: null, mend: null }
  for (const node of world.nodes.values()) {
    const { name, health, problem, stuckSinceMs } = node
    const isStuck = stuckSinceMs !== null
    if (problem !== null || isStuck)
      list.push({
        ...blank,
        id: `node-${node.id}`,
        severity: 'error',
        ...writtenAs(
          'title',
          isStuck
            ? say('problem_title.node_stuck', { node: name })
            : say('problem_title.node_away', { node: name, health })
        ),
        ...(isStuck
          ? written(say('problem.node_stuck', { forMs: Date.now() - stuckSinceMs }))
          : { text: problem ?? '', code: node.problemCode, params: node.problemParams }),
        nodeId: node.id,
        mend:
          node.stuckSinceMs !== null
            ? 'cordon_node'
            : node.runs.some(({ jobId }) => jobId !== null)
              ? 'run_elsewhere'
              : 'edit_node'
      })
  }
  if (!world.firstRun) {
    list.push({
      ...blank,
      id: 'fails-prices',
      severity: 'error',
      ...writtenAs(
        'title',
        say('problem_title.spider_fails', { project: 'prices', spider: 'amazon_de', isLost: false })
      ),
      ...written(say('problem.spider_fails', { times: 14, why: "KeyError: 'offerPrice'" })),
      project: aProjectName('prices'),
      spider: 'amazon_de',
      status: 'failed',
      mend: 'open_jobs'
    })
  }
  if (world.python.state === 'missing')
    list.push({
      ...blank,
      id: 'python',
      severity: 'warning',
      ...writtenAs('title', say('problem_title.python_missing')),
      ...written(problemOf(world.python)!),
      mend: 'create_environment'
    })
  if (world.paused)
    list.push({
      ...blank,
      id: 'paused',
      severity: 'warning',
      ...writtenAs('title', say('problem_title.queue_paused')),
      ...written(say('problem.queue_paused', { jobs: 12 })),
      mend: 'resume'
    })
  return list
}
