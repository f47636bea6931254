import { formatCount } from './numbers.ts'

/**
 * `10/10`, and `+4` when the nodes hold more jobs than they have slots: sent before a node was known to have fewer, they
 * wait there. `14/10` would claim that they run.
 */
export function splitSlots(
  used: number,
  total: number
): { inUse: number; over: string | null; hint: string | undefined } {
  if (used <= total) return { inUse: used, over: null, hint: undefined }
  const over = `+${formatCount(used - total)}`
  return { inUse: total, over, hint: `${over} on the nodes beyond their slots: they wait there` }
}
