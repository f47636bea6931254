import type { IndexedLogBlocks } from '../model/records.ts'

/**
 * A bitmap of a log's blocks. Bit `n` is 0 if block `n` has no match. Blocks beyond the last byte count as
 * candidates.
 */
export type Candidates = Uint8Array

export const isCandidate = (candidates: Candidates, block: number): boolean =>
  block >= candidates.length * 8 || ((candidates[block >> 3]! >> (block & 7)) & 1) === 1

export function mayHoldMatch(blocks: IndexedLogBlocks, candidates: Candidates): boolean {
  const { firstBlock, wholeBlocks, tailBlock } = blocks
  if (tailBlock === 'open' || (tailBlock !== null && isCandidate(candidates, tailBlock))) return true
  for (let index = 0; index < wholeBlocks; index += 1) if (isCandidate(candidates, firstBlock! + index)) return true
  return false
}
