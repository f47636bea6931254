import { ScrapdeckError } from '../../../shared/errors.ts'
import type { Leadership } from './leadership.ts'

/** On SQLite, there is one engine, and it leads. */
export function engineAlone(self: {
  scrapdeckVersion: string
  startedAtMs: number
  hasLocalNode: boolean
}): Leadership {
  const refuse = async () => {
    const text = 'This engine is alone on its database. Several need `store = postgres://…` (docs/scaling.md).'
    throw new ScrapdeckError('BAD_INPUT', text)
  }
  const engine = { id: 'alone', name: 'this engine', address: '', version: self.scrapdeckVersion }
  const { startedAtMs } = self
  return {
    name: engine.name,
    secret: '',
    certificate: null,
    certificates: async () => new Map(),
    mayAct: () => true,
    list: async () => ({
      shared: false,
      engines: [
        {
          ...engine,
          startedAtMs,
          state: 'leading' as const,
          silentMs: 0,
          drained: false,
          hasLocalNode: self.hasLocalNode
        }
      ],
      terms: []
    }),
    listApart: async () => [],
    handOver: refuse,
    // SQLite says whether it has committed.
    stepDown() {},
    setDrained: refuse
  }
}
