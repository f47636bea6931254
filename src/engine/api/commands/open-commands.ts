import { join } from 'node:path'
import { isScrapdeckError } from '../../../shared/errors.ts'
import { actAs } from '../../access/acting.ts'
import type { LiveAttempts } from '../../jobs/dispatch/live-attempts.ts'
import type { Jobs } from '../../jobs/open-jobs.ts'
import type { DiscoveredFleet } from '../../nodes/discovery/discovery.ts'
import type { Nodes } from '../../nodes/open-nodes.ts'
import type { Distributing } from '../../projects/open-projects.ts'
import type { Projects } from '../../projects/projects.ts'
import { createJobIds } from '../../runtime/ids.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import { stop, type Tools } from '../../runtime/tools.ts'
import type { ScheduledJobs } from '../../schedules/open-schedules.ts'
import type { Store } from '../../storage/store.ts'
import { EventRecorder } from '../change-feed/event-recorder.ts'
import { JobCommands } from './job-commands.ts'
import { NodeCommands } from './node-commands.ts'
import { prepareJobs, requireSpiders } from './prepare-jobs.ts'
import { ProjectCommands } from './project-commands.ts'
import { QueueCommands } from './queue-commands.ts'
import { SystemCommands } from './system-commands.ts'
import { openTemplate } from './template-secrets.ts'

interface CommandsParts
  extends Tools,
    Pick<Nodes, 'fleet' | 'local' | 'engineNodes' | 'credentialFiles' | 'pulling'>,
    Pick<Jobs, 'dispatch' | 'waiting' | 'wakeDispatcher'>,
    Pick<Distributing, 'distribution' | 'atOnce'> {
  store: Store
  secretBox: SecretBox
  projects: Projects
  live: LiveAttempts
  resourcesDirectory: string
}

export type Commands = ReturnType<typeof openCommands>

export function openCommands(opened: AsyncDisposableStack, parts: CommandsParts) {
  const { store, secretBox, projects, live, clock, random, logger } = parts
  const { fleet, local, engineNodes, credentialFiles, pulling } = parts
  const { dispatch, waiting, wakeDispatcher, distribution, atOnce } = parts
  const eventRecorder = opened.adopt(new EventRecorder({ store, clock, logger }), stop)
  const preparing = { fleet, projects, secretBox, clock, newJobId: createJobIds(clock, random) }
  const jobCommands = new JobCommands({ ...preparing, store, dispatch, waiting })
  const nodeCommands = new NodeCommands({
    ...preparing,
    store,
    live,
    dispatch,
    distribution,
    random,
    engineNodes,
    credentialFiles,
    pulling
  })
  const projectCommands = new ProjectCommands({
    store,
    fleet,
    projects,
    distribution,
    environments: local.environments,
    secretBox,
    wakeDispatcher,
    clock,
    logger,
    spreadAtOnce: () => atOnce.scanSoon(),
    onUploaded: (version) => eventRecorder.recordUpload(version)
  })
  const systemCommands = new SystemCommands({
    store,
    dispatch,
    projects,
    jobCommands,
    projectCommands,
    localNode: local.node,
    buildDemoEgg: async () => {
      const { buildEggFromFolder } = await import('../../projects/egg-builder.ts')
      return buildEggFromFolder(join(parts.resourcesDirectory, 'demo'))
    }
  })
  const scheduledJobs: ScheduledJobs = {
    prepare: (items, origin) => prepareJobs(items, origin, preparing),
    prepareChained: (items) => prepareJobs(items, { source: 'chain' }, preparing),
    requireSpiders: (template) => requireSpiders(template, projects.catalog),
    openTemplate: (template) => openTemplate(template, secretBox),
    cancel: (jobIds) => actAs(null, () => jobCommands.cancel(jobIds, { force: false }))
  }
  return {
    eventRecorder,
    jobCommands,
    nodeCommands,
    projectCommands,
    systemCommands,
    queueCommands: new QueueCommands({ store, live, fleet, waiting, wakeDispatcher }),
    scheduledJobs,
    discovered: asDiscovered(fleet, nodeCommands)
  }
}

function asDiscovered(fleet: Nodes['fleet'], commands: NodeCommands): DiscoveredFleet {
  return {
    list() {
      const remote = fleet.list().filter(({ stored }) => stored.kind === 'scrapyd')
      return remote.map(({ stored: { id, url, mode, sourceId } }) => ({ id, url, mode, sourceId }))
    },
    add: (nodes) => commands.addMany(nodes.map((node) => ({ ...node, scrapydVersion: null }))),
    async setMode(nodeId, mode) {
      try {
        await commands.setMode(nodeId, mode)
      } catch (error) {
        if (!isScrapdeckError(error, 'NODE_NOT_FOUND')) throw error
      }
    },
    releaseAllBut: (sourceIds) => commands.releaseAllBut(sourceIds)
  }
}
