import { availableParallelism } from 'node:os'
import { systemClock } from '../../runtime/clock.ts'
import { type Logger, silentLogger } from '../../runtime/logger.ts'
import { openDataDirectory } from '../../runtime/private-directory.ts'
import { checkNamedPython, layOutLocalNode, type LocalNodeSettings } from '../local/optional-local-node.ts'
import { HostedNode } from './hosted-node.ts'

export async function openHosted(options: LocalNodeSettings & { logger?: Logger }): Promise<HostedNode | null> {
  if (options.localSlots === 0) return null
  const { dataDirectory, resourcesDirectory, pythonPath, warmStarts, isolation, logger = silentLogger } = options
  openDataDirectory(dataDirectory)
  const layout = layOutLocalNode(options)
  await checkNamedPython(options)
  return HostedNode.open({
    dataDirectory,
    resourcesDirectory,
    pythonPath,
    warmStarts,
    isolation,
    clock: systemClock,
    logger,
    directory: layout.own,
    slots: options.localSlots ?? options.configuredSlots ?? availableParallelism(),
    jobsToKeep: options.jobsToKeep ?? null,
    directories: layout.written,
    prunedDirectories: layout.pruned
  })
}
