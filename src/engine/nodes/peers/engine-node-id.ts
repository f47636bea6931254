import { createHash } from 'node:crypto'
import type { NodeId } from '../../../shared/contract/index.ts'

/** The id of an engine's local node. Every engine computes the same id. */
export const nodeOfEngine = (engine: string): NodeId =>
  `n-${createHash('sha256').update(engine).digest('hex').slice(0, 12)}` as NodeId
