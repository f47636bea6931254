import { availableParallelism } from 'node:os'
import { HostedNode } from './hosted-node.ts'
import { requirePython } from '../local/pythons/check-python.ts'
import { absoluteUnlessBare } from '../local/pythons/python-environment.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { openDataDirectory } from '../../runtime/private-directory.ts'
import type { EngineOptions } from '../../assembly/engine-options.ts'
import { hasLocalNode, layOutLocalNode } from '../local/optional-local-node.ts'

/** See openHostedNode (../index.ts). */
export async function openHosted(options: EngineOptions): Promise<HostedNode | null> {
  if (!hasLocalNode(options)) return null
  const { dataDirectory, resourcesDirectory, pythonPath, warmStarts, keepApart, logger = silentLogger } = options
  openDataDirectory(dataDirectory)
  const layout = layOutLocalNode(options)
  const clock = systemClock
  if (pythonPath !== undefined) {
    await requirePython(absoluteUnlessBare(pythonPath), { directory: resourcesDirectory, clock })
  }
  return HostedNode.open({
    ...{ directory: layout.own, dataDirectory, resourcesDirectory, warmStarts, keepApart, clock, logger },
    ...(pythonPath !== undefined && { pythonPath }),
    slots: options.localSlots ?? options.configuredSlots ?? availableParallelism(),
    jobsToKeep: options.jobsToKeep ?? null,
    directories: { logsDirectory: layout.writtenLogs, itemsDirectory: layout.items, jobsDirectory: layout.jobs },
    prunedDirectories: [layout.writtenLogs, layout.itemFiles].filter((directory) => directory !== null)
  })
}
