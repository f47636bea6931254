/** A fleet where every node changes every second, because runs and their jobs end and start. */
import { RPCHandler } from '@orpc/server/message-port'
import type { Change, Job, Node } from '../../shared/contract/index.ts'
import { aJob, aNode, jobIdAt } from '../../shared/testing/builders.ts'
import { createFakeEngine } from './fake-engine.ts'
import { seededRandom } from './fake-fleet.ts'

/** The interval of the engine's change feed. */
const BATCH_EVERY_MS = 100
const BATCHES_PER_ROUND = 10

self.onmessage = ({ data, ports }: MessageEvent<{ nodes: number; slots: number; jobs: number }>) => {
  const port = ports[0]
  if (port === undefined) return
  const engine = createFakeEngine({ nodeCount: 1, jobCount: 300 })
  const nodes = fill(data.nodes, data.slots)
  for (const node of nodes) engine.nodes.set(node.id, node)
  for (let number = 0; number < data.jobs; number += 1) {
    const id = jobIdAt(Date.now() - number * 1000, number)
    engine.jobs.set(
      id,
      aJob({ id, jobid: id, queuedAtMs: Date.now() - number * 1000, spider: `spider_${number % 400}` })
    )
  }
  const random = seededRandom(11)
  let number = 1_000_000
  let batch = 0
  setInterval(() => {
    const changes: Change[] = []
    for (let index = batch++ % BATCHES_PER_ROUND; index < nodes.length; index += BATCHES_PER_ROUND) {
      const node = nodes[index]!
      const slot = Math.floor(random() * node.slots)
      const job = startedJob(node.id, number++)
      const before = node.runs[slot]
      const runs = [...node.runs]
      runs[slot] = { ...runOf(job), state: random() < 0.2 ? 'starting' : 'running' }
      const changed: Node = {
        ...node,
        runs: runs.filter(Boolean),
        latencyMs: 5 + random() * 40,
        lastSeenAtMs: Date.now(),
        finished: (node.finished ?? 0) + 1
      }
      nodes[index] = changed
      engine.nodes.set(changed.id, changed)
      changes.push({ kind: 'node', node: changed }, { kind: 'job', job })
      if (before?.jobId) changes.push({ kind: 'job', job: endedJob(startedJob(node.id, number, before.jobId)) })
    }
    engine.emit(...changes)
  }, BATCH_EVERY_MS)
  // When thousands of jobs end per minute, the engine announces them as an occasional single change.
  setInterval(() => engine.emit({ kind: 'jobs' }), 1_000)
  new RPCHandler(engine.router).upgrade(port)
  port.start()
}

function fill(count: number, slots: number): Node[] {
  return Array.from({ length: count }, (_, index) => {
    const id = `n${String(index).padStart(4, '0')}`
    const job = (slot: number) => startedJob(id, index * slots + slot)
    return aNode({
      id,
      name: `node-${index + 1}`,
      nodeName: id,
      url: `http://${id}.example.net:6800/`,
      slots,
      group: ['Europe', 'America', 'Asia'][index % 3]!,
      runs: Array.from({ length: slots - (index % 3) }, (_each, slot) => runOf(job(slot))),
      running: slots - (index % 3)
    })
  })
}

function startedJob(nodeId: string, number: number, id = jobIdAt(Date.now(), number)): Job {
  return aJob({
    id,
    jobid: id,
    status: 'running',
    state: 'running',
    nodeId,
    attemptCount: 1,
    startedAtMs: Date.now(),
    spider: `spider_${number % 400}`
  })
}

const endedJob = (job: Job): Job => ({
  ...job,
  status: 'succeeded',
  state: 'ended',
  outcome: 'succeeded',
  endedAtMs: Date.now()
})

const runOf = ({ id, jobid, project, spider, startedAtMs }: Job): Node['runs'][number] => ({
  jobId: id,
  jobid,
  project,
  spider,
  state: 'running',
  sinceMs: startedAtMs,
  pid: null,
  usage: null
})
