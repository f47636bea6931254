import { FRAME_RAW_BYTES } from '../../logs/archive/frames.ts'
import { type Candidates, isCandidate } from '../../../storage/log-blocks.ts'
import type { IndexedLogBlocks } from '../../../model/records.ts'
import type { Piece } from './scan-logs.ts'

/** Which parts of a log to search, from `offset` on; null: all of it, however long it is. */
export function piecesOf(
  blocks: IndexedLogBlocks | null,
  candidates: Candidates | null,
  offset: number | null
): Piece[] | null {
  if (blocks === null || candidates === null) {
    return offset === null ? null : [{ from: offset, to: Number.MAX_SAFE_INTEGER }]
  }
  const { rawBytes, firstBlock, wholeBlocks, tailBlock } = blocks
  const pieces: Piece[] = []
  const add = (from: number, to: number) => {
    if (to <= (offset ?? 0)) return
    if (pieces.at(-1)?.to === from) pieces.at(-1)!.to = to
    else pieces.push({ from: Math.max(from, offset ?? 0), to })
  }
  for (let index = 0; index < wholeBlocks; index += 1)
    if (isCandidate(candidates, firstBlock! + index)) add(index * FRAME_RAW_BYTES, (index + 1) * FRAME_RAW_BYTES)
  if (tailBlock === 'open' || (tailBlock !== null && isCandidate(candidates, tailBlock)))
    add(wholeBlocks * FRAME_RAW_BYTES, rawBytes)
  return pieces
}

export const bytesOf = (pieces: Piece[], rawBytes: number): number =>
  pieces.reduce((sum, { from, to }) => sum + Math.min(to, rawBytes) - from, 0)
