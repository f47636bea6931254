import type { SecureContextOptions } from 'node:tls'
import type { EngineList } from '../../../shared/contract/index.ts'

/** The certificate of an engine as it is now: it is renewed while the engine runs. */
export interface EngineCertificate {
  /** PEM: the one that it shows, by which others recognize it. */
  readonly own: string
  /** With its key, for servers that ask their clients for one. */
  readonly context: Pick<SecureContextOptions, 'cert' | 'key'>
}

/** What an engine knows about those it shares a database with. */
export interface Leadership {
  /** Of this engine, for people; the same after a restart. */
  readonly name: string
  /** What requests between engines carry. */
  readonly secret: string
  /** Whether this engine certainly leads at this moment. */
  mayAct(): boolean
  list(): Promise<EngineList>
  /** Of this engine; null: it speaks plain HTTP. */
  readonly certificate: EngineCertificate | null
  /** By the id of the engine (PEM): of those that speak TLS. */
  certificates(): Promise<ReadonlyMap<string, string>>
  /** Engines that live and keep eggs and logs somewhere else than this one. */
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
