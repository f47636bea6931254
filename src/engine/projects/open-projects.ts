import { stop, type Tools } from '../runtime/tools.ts'
import { AtOnce, type AtOnceOptions } from './at-once.ts'
import { Distribution, type DistributionOptions } from './distribution.ts'
import { createEggThreads } from './egg-thread.ts'
import { EggTree } from './egg-tree.ts'
import { Projects, type ProjectsOptions } from './projects.ts'
import { SpiderLookup, type SpiderLookupOptions } from './spider-lookup.ts'

interface ProjectsParts extends Omit<ProjectsOptions, 'openEgg'> {
  /** In Scrapyd's layout. */
  treeDirectory: string
}

export async function openProjects({ treeDirectory, ...parts }: ProjectsParts): Promise<Projects> {
  return Projects.open({
    ...parts,
    openEgg: createEggThreads(parts.clock),
    tree: parts.tree ?? (await EggTree.open(treeDirectory, parts.logger))
  })
}

export type EggNodes = Pick<DistributionOptions, 'clientOf' | 'fetchesEggs' | 'importErrorOf'> &
  Pick<SpiderLookupOptions, 'nodes' | 'duringLongCall'> &
  Pick<AtOnceOptions, 'nodeIds'>

export type Distributing = ReturnType<typeof openDistribution>

export function openDistribution(
  opened: AsyncDisposableStack,
  parts: Tools & { projects: Projects; eggNodes: EggNodes }
) {
  const { projects, eggNodes, clock, logger } = parts
  const distribution = opened.adopt(new Distribution({ ...eggNodes, projects, clock }), stop)
  const spiderLookup = new SpiderLookup({ ...eggNodes, projects, distribution, clock })
  const atOnce = opened.adopt(new AtOnce({ ...eggNodes, projects, distribution, clock, logger }), stop)
  return { distribution, spiderLookup, atOnce }
}
