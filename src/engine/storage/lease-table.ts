/** Advisory locks; their second number is the namespace. Other programs are unlikely to choose these numbers. */
export const WRITE_LOCK = 20_261_126
/** Held by the engine that leads the namespace, or uses it alone. */
export const ENGINE_LOCK = 20_261_127

/** The lease of the engines on one database. All times are the database's. */
export interface LeaseTable {
  /** This machine's address as the database sees it. null: a local socket. */
  clientAddress(): Promise<string | null>
  /** Returns the value of `name` that all engines share: whichever the first engine set. */
  common(name: string, value: string): Promise<string>
  /** `wantsLock`: also takes the lock if it is free. */
  look(options: { wantsLock: boolean }): Promise<SeenLease>
  unlock(): Promise<void>
  /**
   * Resolves with the new epoch. null: the lease changed since `renewal` and `epoch` were read. Without the lock, the
   * connections of the engine that holds it are ended.
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
  /** false: another engine holds the lease. */
  renew(lease: { holder: string; epoch: number; hasLock: boolean; leaseMs: number }): Promise<boolean>
  /** For `graceMs`, only the engine `next` may take the lease. null: any engine. */
  release(lease: { holder: string; epoch: number; next: string | null; graceMs: number }): Promise<void>
  /** The heartbeat of this engine. Resolves with whether it is drained. */
  beat(engine: EngineSelf): Promise<boolean>
  leave(id: string): Promise<void>
  /** false: there is no such engine. */
  setDrained(id: string, isDrained: boolean): Promise<boolean>
  list(): Promise<EngineRow[]>
  /** Newest first. */
  terms(limit: number): Promise<Term[]>
  /** Drops the connection, and with it all pending statements. The next statement opens another. */
  reset(): void
  close(): Promise<void>
}

export interface SeenLease {
  epoch: number
  holder: string | null
  /** The holder also holds the lock, so a free lock means that the holder is gone. */
  hasLock: boolean
  /** Only a hint: the database's clock may step. */
  isExpired: boolean
  /** Differs after each change of the lease. */
  renewal: string
  /** The only engine that may take it now. */
  next: string | null
  leaderAddress: string | null
  leaderCertificate: string | null
  leaderName: string | null
  gotLock: boolean
}

/** What an engine publishes about itself. */
export interface EngineSelf {
  /** New after each start. */
  id: string
  name: string
  address: string
  version: string
  /** It runs spiders itself, for the leader. */
  hasLocalNode: boolean
  /** PEM: the certificate that identifies it; new after a renewal. Empty: it speaks plain HTTP. */
  readonly certificate: string
  /** The place of its eggs and logs (blobs/blobs-place.ts). Empty: unknown. */
  blobs: string
}

export interface EngineRow extends EngineSelf {
  isDrained: boolean
  startedAtMs: number
  /** Since its last heartbeat. */
  silentMs: number
}

/** One engine's time as the leader. */
export interface Term {
  epoch: number
  engine: string
  sinceMs: number
  /** Why it became the leader. */
  reason: string
}

/** A transaction of the leader carries this, and is checked against it. */
export interface Lease {
  holder: string
  epoch: number
}
