import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import { NodeError } from './node-client.ts'
import type { FleetNode } from './fleet.ts'
import type { Logger } from '../runtime/logger.ts'

/**
 * Reads what a node has of its own: which Scrapyd it is where that is not known, projects, their versions, and the spiders of each project's newest version (one
 * blocking call of Scrapyd a project, answered from its cache after the first). A node that stops answering half-way is asked
 * again when it comes back.
 */
export async function readNodeInventory(
  node: FleetNode,
  options: {
    logger: Logger
    knowsSpiders: (project: ProjectName, version: VersionName) => boolean
    record: (seen: { project: ProjectName; versions: VersionName[]; spiders: string[] | null }) => Promise<void>
    recordProjects: (projects: string[]) => Promise<void>
    recordVersion: (scrapydVersion: string) => Promise<void>
  }
): Promise<void> {
  const { eggTarget } = node.client
  if (eggTarget === null) return
  try {
    const projects = await eggTarget.listProjects()
    for (const project of projects) {
      const versions = await eggTarget.listVersions(project)
      const newest = versions.at(-1)
      const isNew = newest !== undefined && !options.knowsSpiders(project, newest)
      const spiders = isNew ? await listSpiders(node, project, newest, options.logger) : null
      await options.record({ project, versions, spiders })
    }
    await options.recordProjects(projects)
    // Found by discovery, or it was away when it was added: nobody has asked yet.
    const version = node.stored.scrapydVersion === null ? await eggTarget.probeVersion?.() : undefined
    if (version !== undefined) await options.recordVersion(version)
  } catch (error) {
    if (!(error instanceof NodeError)) throw error
    options.logger.warn(
      { node: node.stored.name, error: error.message },
      'the inventory of a node could not be read; retrying when it is back'
    )
  }
}

/** null: the version does not import there; that is its own trouble, not the inventory's. */
async function listSpiders(
  node: FleetNode,
  project: ProjectName,
  version: VersionName,
  logger: Logger
): Promise<string[] | null> {
  try {
    return await node.observer.duringLongCall(node.client.listSpiders(project, version))
  } catch (error) {
    if (!(error instanceof NodeError) || error.kind !== 'refused') throw error
    logger.info(
      { node: node.stored.name, project, version, error: error.message },
      'a version on a node does not list its spiders'
    )
    return null
  }
}
