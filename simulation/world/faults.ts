export const REQUEST_FAULTS = [
  'reply lost',
  'request lost',
  'answered too late',
  'took effect too late',
  'answered twice',
  'html with 200',
  'json cut off',
  'never answered',
  'connection refused',
  'status 500'
] as const
export type RequestFault = (typeof REQUEST_FAULTS)[number]

export const FAULT_KINDS = [
  // between us and a node
  ...REQUEST_FAULTS,
  'unauthorized',
  // on a node
  'node restarted, its processes died',
  'node restarted, its processes live on',
  'queue of a node lost',
  'finished list pruned',
  'node froze while listing spiders',
  'clock of a node is off',
  'clock of a node jumped',
  'poller stuck for a while',
  'poller stuck for ever',
  'two nodes share a queue',
  'egg deleted on a node',
  'log missing',
  'log cut off',
  'log forbidden',
  'logs slow',
  'job of a stranger',
  // on our side
  'engine killed before a call',
  'engine killed after a call',
  'engine restarted',
  'disk full',
  'our clock jumped ahead',
  'our clock jumped back'
] as const

/** Faults that only several engines can have. */
export const ENGINE_FAULTS = [
  'leader killed',
  'follower killed',
  /** SIGSTOP for a while. Afterwards, the engine does not know that it was stopped. */
  'engine stalled',
  'leader stalled at a call',
  /** For a while, no data passes between the engine and the database. */
  'engine cut off from the database',
  'connection of the lease dropped',
  /** The leader's write took effect, but the connection ended before the response. */
  'answer of a commit lost',
  'leadership handed over',
  'engine drained'
] as const
export type EngineFault = (typeof ENGINE_FAULTS)[number]
/** `an engine leads` is not a fault, but the consequence of most of them. */
export type FaultKind = (typeof FAULT_KINDS)[number] | EngineFault | 'an engine leads'

export interface Fault {
  atMs: number
  kind: FaultKind
  /** The affected node. null: the fault is on our side. */
  node: string | null
  about: string
}

export class Faults {
  readonly list: Fault[] = []
  readonly #nowMs: () => number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  note(kind: FaultKind, node: string | null, about = ''): void {
    this.list.push({ atMs: this.#nowMs(), kind, node, about })
  }
}

export function countByKind(faults: readonly Fault[]): Partial<Record<FaultKind, number>> {
  const counts: Partial<Record<FaultKind, number>> = {}
  for (const { kind } of faults) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
