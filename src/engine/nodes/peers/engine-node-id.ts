import { createHash } from 'node:crypto'
import type { NodeId } from '../../../shared/contract/index.ts'

export const nodeOfEngine = (engine: string): NodeId =>
  `n-${createHash('sha256').update(engine).digest('hex').slice(0, 12)}` as NodeId
