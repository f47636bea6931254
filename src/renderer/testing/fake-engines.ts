import { implement } from '@orpc/server'
import { contract, type EngineInfo } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'

/** One engine, or three: a leader, a follower and a silent one. Supports handover and drain. */
export function createFakeEngines({ hasSeveralEngines = false }: { hasSeveralEngines?: boolean }) {
  const os = implement(contract)
  const nowMs = Date.now()
  const requireSeveral = () => {
    if (!hasSeveralEngines) throw new ScrapdeckError('BAD_INPUT', 'This is the only engine on its database.')
  }
  const engine = (id: string, name: string, state: EngineInfo['state'], silentMs: number): EngineInfo => ({
    id,
    name,
    address: `http://${name}`,
    version: '0.9.0',
    startedAtMs: nowMs - 86_400_000 * 3,
    state,
    silentMs,
    drained: false,
    hasLocalNode: id !== 'e3'
  })
  let engines = [
    engine('e1', 'north:6800', 'leading', 400),
    engine('e2', 'south:6800', 'following', 700),
    engine('e3', 'west:6800', 'silent', 94_000)
  ]
  const terms = [
    { epoch: 2, engine: 'north:6800', sinceMs: nowMs - 7_200_000, reason: 'west:6800 is gone' },
    { epoch: 1, engine: 'west:6800', sinceMs: nowMs - 86_400_000 * 3, reason: 'the first engine' }
  ]
  const lead = (id: string) => {
    engines = engines.map((one) => ({
      ...one,
      state: one.id === id ? 'leading' : one.state === 'leading' ? 'following' : one.state
    }))
    const { name } = engines.find((one) => one.id === id)!
    const reason = 'the leadership was handed over'
    terms.unshift({ epoch: terms[0]!.epoch + 1, engine: name, sinceMs: Date.now(), reason })
  }
  return {
    list: os.engines.list.handler(() => {
      if (hasSeveralEngines) return { shared: true, engines, terms }
      return { shared: false, engines: [engine('alone', 'this engine', 'leading', 0)], terms: [] }
    }),
    handOver: os.engines.handOver.handler(({ input }) => {
      requireSeveral()
      lead(input.to ?? engines.find(({ state }) => state === 'following')!.id)
      return { handedOver: true as const }
    }),
    drain: os.engines.drain.handler(({ input: { id, drained } }) => {
      requireSeveral()
      engines = engines.map((one) => (one.id === id ? { ...one, drained } : one))
      return { drained }
    })
  }
}
