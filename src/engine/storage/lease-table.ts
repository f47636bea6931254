/** First numbers of advisory locks; the second is the namespace. Other programs are unlikely to use the same ones. */
export const WRITE_LOCK = 20_261_126
/** Held by the engine that leads the namespace or uses it alone. */
export const ENGINE_LOCK = 20_261_127

/** The lease that the engines on one database share. All times come from the database. */
export interface LeaseTable {
  /** This machine's address as the database sees it. null: a local socket. */
  clientAddress(): Promise<string | null>
  /** Returns the value of `name` that all engines share: whichever the first engine set. */
  common(name: string, value: string): Promise<string>
  /** Reads the lease. `wantsLock`: also takes the lock if it is free. */
  look(options: { wantsLock: boolean }): Promise<SeenLease>
  unlock(): Promise<void>
  /**
   * Takes the lease and resolves with the new epoch; null: the lease has changed since `renewal` and `epoch` were read.
   * If the lock is not held, this also ends the connections of the engine that holds it.
   */
  take(claim: {
    holder: string
    name: string
    hasLock: boolean
    epoch: number
    renewal: string
    leaseMs: number
    reason: string
  }): Promise<number | null>
  /** Returns false if another engine holds the lease. */
  renew(lease: { holder: string; epoch: number; hasLock: boolean; leaseMs: number }): Promise<boolean>
  /** For `graceMs`, only the engine `next` may take the lease; null: every engine may. */
  release(lease: { holder: string; epoch: number; next: string | null; graceMs: number }): Promise<void>
  /** Records this engine's heartbeat. Resolves with whether the engine is drained. */
  beat(engine: EngineSelf): Promise<boolean>
  leave(id: string): Promise<void>
  /** Returns false if there is no such engine. */
  setDrained(id: string, isDrained: boolean): Promise<boolean>
  list(): Promise<EngineRow[]>
  /** Newest first. */
  terms(limit: number): Promise<Term[]>
  /** Drops the connection and all its pending statements. The next statement opens a new one. */
  reset(): void
  close(): Promise<void>
}

export interface SeenLease {
  epoch: number
  holder: string | null
  /** The holder also holds the lock. If the lock is free, the holder is gone. */
  hasLock: boolean
  /** Only a hint, because the database's clock may be changed. */
  isExpired: boolean
  /** Differs after each change of the lease. */
  renewal: string
  /** The only engine that may currently take the lease. */
  next: string | null
  leaderAddress: string | null
  leaderCertificate: string | null
  leaderName: string | null
  gotLock: boolean
}

/** What an engine publishes about itself. */
export interface EngineSelf {
  /** Changes with every start. */
  id: string
  name: string
  address: string
  version: string
  /** The engine itself runs spiders for the leader. */
  hasLocalNode: boolean
  /** The certificate that identifies the engine, as PEM; changes when renewed. Empty: the engine speaks plain HTTP. */
  readonly certificate: string
  /** Where its eggs and logs are (blobs/blobs-place.ts). Empty: unknown. */
  blobs: string
}

export interface EngineRow extends EngineSelf {
  isDrained: boolean
  startedAtMs: number
  /** The time since the last heartbeat. */
  silentMs: number
}

/** A period in which one engine was the leader. */
export interface Term {
  epoch: number
  engine: string
  sinceMs: number
  /** Why the engine became the leader. */
  reason: string
}

/** Every transaction of a leader carries this, and fails if it is outdated. */
export interface Lease {
  holder: string
  epoch: number
}
