import { createHash } from 'node:crypto'
import type { NodeId } from '../../../shared/contract/index.ts'

/** Of the local node of an engine: the same whichever engine adds it. */
export const nodeOfEngine = (engine: string): NodeId =>
  `n-${createHash('sha256').update(engine).digest('hex').slice(0, 12)}` as NodeId
