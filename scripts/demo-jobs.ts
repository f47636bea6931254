/** The demo's project and jobs on any Scrapdeck, used by scripts/demo.ts and the tests of the containers. */
import type { Client } from '../e2e/support/service.ts'
import { buildEggFromFolder } from '../src/engine/projects/egg-builder.ts'
import { type Job, JobStatus } from '../src/shared/contract/index.ts'
import { inRoot } from './setup/platform.mjs'

/** The jobs to queue, and how each must end. The broken spiders must fail. */
const JOBS: { spider: string; count: number; args: Record<string, string>; status: JobStatus }[] = [
  { spider: 'quotes', count: 36, args: { pages: '6', delay: '0.3' }, status: 'succeeded' },
  { spider: 'prices', count: 16, args: { pages: '8', delay: '0.3' }, status: 'succeeded' },
  { spider: 'broken', count: 8, args: {}, status: 'failed' }
]
const LEADER_ATTEMPTS = 30
const JOB_COUNT = JOBS.reduce((sum, { count }) => sum + count, 0)

/** Deploys the project, runs the jobs and shows their progress. @returns whether each ended as expected */
export async function runDemoJobs(client: Client): Promise<boolean> {
  await deploy(client)
  const beganAtMs = Date.now()
  for (const { spider, count, args } of JOBS) {
    for (let number = 0; number < count; number++) {
      await whenLed(() => client.jobs.run({ project: 'demo', spiders: [spider], args }))
    }
  }
  console.log(`✓ ${JOB_COUNT} jobs queued`)
  const jobs = await watch(client)
  return summarise(jobs, await nodeNames(client), Date.now() - beganAtMs)
}

async function deploy(client: Client): Promise<void> {
  const egg = await buildEggFromFolder(inRoot('resources', 'demo'))
  const file = new File([new Uint8Array(egg)], 'demo.egg')
  const { version } = await client.projects.upload({ file, project: 'demo' })
  for await (const { state, error } of await client.projects.deploy({ project: 'demo', version })) {
    if (state === 'failed') throw new Error(`A node refused the demo project: ${error}`)
  }
  console.log(`✓ The demo project is on all nodes`)
}

async function watch(client: Client): Promise<Job[]> {
  let shown = ''
  for (;;) {
    const { jobs } = await whenLed(() => client.jobs.list({ limit: 500 }))
    const text = JobStatus.options
      .map((status) => ({ status, count: jobs.filter((job) => job.status === status).length }))
      .filter(({ count }) => count > 0)
      .map(({ status, count }) => `${count} ${status}`)
      .join(', ')
    if (text !== shown) console.log(`… ${text}`)
    shown = text
    if (jobs.length === JOB_COUNT && jobs.every(({ state }) => state === 'ended')) return jobs
    await new Promise((wake) => setTimeout(wake, 1000))
  }
}

function summarise(jobs: Job[], names: Map<string, string>, durationMs: number): boolean {
  const wanted = new Map(JOBS.map(({ spider, status }) => [spider, status]))
  const wrong = jobs.filter((job) => job.status !== wanted.get(job.spider))
  const perNode = [...Map.groupBy(jobs, ({ nodeId }) => nodeId ?? '')].map(
    ([nodeId, { length }]) => `${names.get(nodeId) ?? 'no node'} ${length}`
  )
  console.log(`✓ ${jobs.length} jobs ended in ${Math.round(durationMs / 1000)} s; ${perNode.sort().join(', ')}`)
  for (const job of wrong) {
    console.log(`✗ ${job.spider} ${job.id} ended as ${job.status} (${job.reason}), not ${wanted.get(job.spider)}`)
  }
  if (wrong.length === 0) console.log('✓ Each ended as it should: the 8 of `broken` failed, the others succeeded')
  return wrong.length === 0
}

async function nodeNames(client: Client): Promise<Map<string, string>> {
  const { nodes } = await client.nodes.list()
  return new Map(nodes.map(({ id, name }) => [id, name]))
}

/** Retries after NO_LEADER. An engine may have to take over first, and no work was done yet. */
async function whenLed<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      if ((error as { code?: string }).code !== 'NO_LEADER' || attempt === LEADER_ATTEMPTS) throw error
      await new Promise((wake) => setTimeout(wake, 1000))
    }
  }
}
