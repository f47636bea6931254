import { NodeError, type NodeClient } from './node-client.ts'
import { LOCAL_TRAITS } from './node-traits.ts'

/**
 * The local node of another engine, which has runs there and does not lead: they go on, but nobody can ask about them.
 * To the rooms it is a node that does not respond, so its jobs wait for it, or are given up as its operator decided.
 */
export function absentNode(engine: string): NodeClient {
  const refuse = async (): Promise<never> => {
    const text = `it is the local node of the engine ${engine}, which does not lead: its runs can be followed only from there`
    throw new NodeError('unreachable', text, { delivered: 'no' })
  }
  return {
    traits: { ...LOCAL_TRAITS, answersAtOnce: false, isNeverAway: false, runsHere: false },
    eggTarget: null,
    daemonStatus: refuse,
    listJobs: refuse,
    schedule: refuse,
    cancel: refuse,
    listSpiders: refuse,
    readLog: refuse,
    readItems: refuse,
    close: async () => {}
  }
}
