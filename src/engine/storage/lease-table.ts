/** The first part of the advisory lock that writers hold. The second part identifies the namespace. */
export const WRITE_LOCK = 20_261_126
/** Like WRITE_LOCK, for the lock of the engine that leads the namespace or uses it alone. */
export const ENGINE_LOCK = 20_261_127

/** The lease that engines share in one database. All times are by the database's clock. */
export interface LeaseTable {
  /** This machine's address as the database sees it; null for a local socket. */
  clientAddress(): Promise<string | null>
  /** Returns the value of `name` that all engines share: `value`, unless another engine set it first. */
  common(name: string, value: string): Promise<string>
  /** Reads the lease. `wantsLock`: also takes the lock if it is free. */
  look(options: { wantsLock: boolean }): Promise<SeenLease>
  unlock(): Promise<void>
  /**
   * Returns the new epoch; null if the lease was changed or renewed in the meantime. Without the lock, ends the
   * holder's connections.
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
  /** For `graceMs`, only the engine `next` can take the lease; null: any engine can. */
  release(lease: { holder: string; epoch: number; next: string | null; graceMs: number }): Promise<void>
  /** Records this engine's heartbeat. Resolves to true if the engine is drained. */
  beat(engine: EngineSelf): Promise<boolean>
  leave(id: string): Promise<void>
  setDrained(id: string, isDrained: boolean): Promise<boolean>
  list(): Promise<EngineRow[]>
  /** Newest first. */
  terms(limit: number): Promise<Term[]>
  /** Drops the connection and all pending statements. The next statement opens a new connection. */
  reset(): void
  close(): Promise<void>
}

export interface SeenLease {
  epoch: number
  holder: string | null
  /** Whether the holder also holds the lock. If the lock is free, the holder has ended. */
  hasLock: boolean
  /** Only a hint, because the database's clock can be changed. */
  isExpired: boolean
  /** A value that differs after each change or renewal of the lease. */
  renewal: string
  next: string | null
  leaderAddress: string | null
  leaderCertificate: string | null
  leaderName: string | null
  gotLock: boolean
}

export interface EngineSelf {
  /** Changes with every start. */
  id: string
  name: string
  address: string
  version: string
  /** Whether the engine itself runs spiders for the leader. */
  hasLocalNode: boolean
  /** The engine's PEM certificate; changes when renewed. Empty: the engine uses plain HTTP. */
  readonly certificate: string
  /** The location of the engine's eggs and logs (blobs/blobs-place.ts). Empty: unknown. */
  blobs: string
}

export interface EngineRow extends EngineSelf {
  isDrained: boolean
  startedAtMs: number
  silentMs: number
}

export interface Term {
  epoch: number
  engine: string
  sinceMs: number
  reason: string
}

/** Every transaction of a leader contains its lease and fails if the lease is outdated. */
export interface Lease {
  holder: string
  epoch: number
}
