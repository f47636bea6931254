import type { SecureContextOptions } from 'node:tls'
import type { EngineList } from '../../../shared/contract/index.ts'

/** The current certificate of an engine: it may be renewed while the engine runs. */
export interface EngineCertificate {
  /** PEM: it shows this one, and others recognize it by it. */
  readonly own: string
  /** With its key, for servers that request client certificates. */
  readonly context: Pick<SecureContextOptions, 'cert' | 'key'>
}

/** What an engine knows about the engines that share its database. */
export interface Leadership {
  /** Of this engine, for people; the same after a restart. */
  readonly name: string
  /** Authenticates requests between engines. */
  readonly secret: string
  /** Whether this engine certainly leads at this moment. */
  mayAct(): boolean
  list(): Promise<EngineList>
  /** Of this engine; null: it speaks plain HTTP. */
  readonly certificate: EngineCertificate | null
  /** PEM by engine id, for the engines that speak TLS. */
  certificates(): Promise<ReadonlyMap<string, string>>
  /** Live engines that keep eggs and logs elsewhere than this one. */
  listApart(): Promise<{ engine: string; place: string }[]>
  /** null: to the first to take it. Rejects with BAD_INPUT or NOT_FOUND. */
  handOver(to: string | null): Promise<void>
  /**
   * The memory of this engine may differ from the database: it gives up the leadership, and the next leader (perhaps
   * itself) reads everything anew.
   */
  stepDown(): void
  /** A drained engine never leads; one that leads hands over. Rejects with NOT_FOUND. */
  setDrained(id: string, isDrained: boolean): Promise<void>
}
