import type { Node } from '../../shared/contract/index.ts'
import { formatCount } from './numbers.ts'
import { texts } from '../../shared/texts/ui/shared.ts'

/** The slots of responding nodes, as in the engine's figures. Nodes that accept no jobs add only their used slots. */
export function countSlots(nodes: ReadonlyArray<Pick<Node, 'health' | 'mode' | 'stuckSinceMs' | 'slots' | 'runs'>>): {
  used: number
  total: number
} {
  const up = nodes.filter(({ health }) => health === 'up')
  const total = up.reduce((sum, { mode, stuckSinceMs, slots, runs }) => {
    const takesJobs = mode === 'active' && stuckSinceMs === null
    return sum + (takesJobs ? slots : Math.min(slots, runs.length))
  }, 0)
  return { used: up.reduce((sum, { runs }) => sum + runs.length, 0), total }
}

/**
 * `10/10`, and `+4` if the nodes have more jobs than slots. The extra jobs, sent before a node reported fewer slots,
 * wait on that node. `14/10` would suggest that they run.
 */
export function splitSlots(
  used: number,
  total: number
): { inUse: number; over: string | null; hint: string | undefined } {
  if (used <= total) return { inUse: used, over: null, hint: undefined }
  const over = `+${formatCount(used - total)}`
  return { inUse: total, over, hint: texts.queuedBeyondSlots(over) }
}
