import { until } from '../../src/engine/testing/until.ts'
import type { Job, JobId, NodeId } from '../../src/shared/contract/index.ts'
import { startScrapyd } from '../support/scrapyd-fleet.ts'
import { startService } from '../support/service.ts'
import { endsEgg, PROJECT } from './ends-project.ts'

export type PruningNode = Awaited<ReturnType<typeof startPruningNode>>

/** Starts the service with its local node and a Scrapyd, named `remote`, that keeps one log per spider. */
export async function startPruningNode({ slots, localSlots }: { slots: number; localSlots: number }) {
  const [scrapyd, service] = await Promise.all([
    startScrapyd({ maxProc: slots, configuration: { jobs_to_keep: '1' } }),
    startService({ localSlots })
  ])
  const { client } = service
  const { id: remote } = await client.nodes.add({ url: scrapyd.url, name: 'remote', slots, logsKept: 1 })
  await client.projects.upload({ file: await endsEgg(), project: PROJECT, version: 'v1' })
  const runOn = async (nodeId: NodeId, spider: string, args: Record<string, string> = {}): Promise<JobId> => {
    const { jobs } = await client.jobs.run({ project: PROJECT, spiders: [spider], nodeId, args })
    return jobs[0]!.id
  }
  const ended = (id: JobId): Promise<Job> =>
    until(
      `the end of ${id}`,
      async () => (await client.jobs.get({ id })).job,
      ({ state }) => state === 'ended',
      90_000
    )
  const stop = async () => {
    await service.stop()
    await scrapyd.stop()
  }
  return { scrapyd, service, remote, runOn, ended, stop }
}
