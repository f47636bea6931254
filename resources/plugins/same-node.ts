import { createHash } from 'node:crypto'
import type { Plugin } from '../../src/engine/notify/plugins/plugin.ts'

/**
 * Runs of a spider go to the same node while it has room: its HTTP cache is there. Different spiders spread over the
 * nodes. Without `tag=`, all nodes that can run a job count.
 *
 *   plugins =
 *       resources/plugins/same-node.ts tag=cache
 */
export default function sameNode({ tag }: Readonly<Record<string, string>>): Plugin {
  return {
    chooseNode(jobs) {
      const given = new Map<string, number>()
      const chosen: Record<string, { node: string; why: string }> = {}
      for (const { job, candidates } of jobs) {
        const spider = `${job.project}/${job.spider}`
        const [best] = candidates
          .filter(({ id, tags, free }) => free > (given.get(id) ?? 0) && (tag === undefined || tags.includes(tag)))
          .map(({ id, name }) => ({ id, score: scoreOf(spider, name) }))
          .sort((one, other) => (one.score < other.score ? -1 : 1))
        if (best === undefined) continue
        given.set(best.id, (given.get(best.id) ?? 0) + 1)
        chosen[job.id] = { node: best.id, why: `of the nodes with room, the first for ${spider}` }
      }
      return chosen
    }
  }
}

/** Each spider has its own order of nodes. A node that comes or goes changes it only for the spiders that prefer it. */
const scoreOf = (spider: string, node: string): string => createHash('sha1').update(`${spider} ${node}`).digest('hex')
