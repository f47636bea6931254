/** Of advisory locks, whose second number is the namespace: other programs are unlikely to choose these. */
export const WRITE_LOCK = 20_261_126
/** Held by the engine that leads the namespace, or uses it alone. */
export const ENGINE_LOCK = 20_261_127

/** The lease of the engines on one database: who leads. All times are the database's. */
export interface LeaseTable {
  /** Where the database sees this machine; null: on a socket. */
  clientAddress(): Promise<string | null>
  /** What all engines must have in common: the value of the first engine that named one. */
  common(name: string, value: string): Promise<string>
  /** `wantsLock`: also takes the lock if it is free. */
  look(options: { wantsLock: boolean }): Promise<SeenLease>
  unlock(): Promise<void>
  /**
   * The new epoch; null: something happened to the lease since `renewal` and `epoch` were seen. Without the lock, the
   * connections of the engine that has it are ended.
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
  /** false: it is another engine's. */
  renew(lease: { holder: string; epoch: number; hasLock: boolean; leaseMs: number }): Promise<boolean>
  /** For `graceMs`, only the engine `next` may take it; null: all may. */
  release(lease: { holder: string; epoch: number; next: string | null; graceMs: number }): Promise<void>
  /** Says that this engine lives. Resolves to whether it is drained. */
  beat(engine: EngineSelf): Promise<boolean>
  leave(id: string): Promise<void>
  /** false: there is no such engine. */
  setDrained(id: string, isDrained: boolean): Promise<boolean>
  list(): Promise<EngineRow[]>
  /** The newest first. */
  terms(limit: number): Promise<Term[]>
  /** Ends the connection: nothing that was asked on it is answered any more. The next statement makes another one. */
  reset(): void
  close(): Promise<void>
}

export interface SeenLease {
  epoch: number
  holder: string | null
  /** The holder holds the lock as well, so a free lock means that it is gone. */
  hasLock: boolean
  /** By the database's clock, which may step: only a hint. */
  isExpired: boolean
  /** Another one after each change of the lease. */
  renewal: string
  /** Who alone may take it now. */
  next: string | null
  leaderAddress: string | null
  /** As EngineSelf.certificate. */
  leaderCertificate: string | null
  leaderName: string | null
  gotLock: boolean
}

/** What an engine says of itself. */
export interface EngineSelf {
  /** Another one after each start. */
  id: string
  name: string
  address: string
  version: string
  /** It runs spiders itself, for the leader. */
  hasLocalNode: boolean
  /** PEM: the one by which it is recognized, another one after a renewal; empty: it speaks plain HTTP. */
  readonly certificate: string
  /** Where it keeps eggs and logs (blobs/blobs-place.ts); empty: not known. */
  blobs: string
}

export interface EngineRow extends EngineSelf {
  isDrained: boolean
  startedAtMs: number
  /** Since it said last that it lives. */
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

/** What a transaction of the leader carries, and what it is checked against. */
export interface Lease {
  holder: string
  epoch: number
}
