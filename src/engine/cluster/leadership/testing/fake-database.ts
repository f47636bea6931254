import type { LeaseTable, SeenLease } from '../../../storage/lease-table.ts'

export interface Session {
  isOpen: boolean
}

/** The rows and the lock of a LeaseTable, as PostgreSQL keeps them. Each method is one statement of one session. */
export class FakeDatabase {
  readonly #wallMs: () => number
  readonly #engines = new Map<string, { name: string; address: string; certificate: string; isDrained: boolean }>()
  #lockedBy: Session | null = null
  #lease = {
    epoch: 0,
    holder: null as string | null,
    hasLock: false,
    expiresAtMs: 0,
    renewal: 0,
    next: null as string | null,
    nextUntilMs: 0
  }

  /** `wallMs` is the server's clock, which can step. */
  constructor(wallMs: () => number) {
    this.#wallMs = wallMs
  }

  endSession(session: Session): void {
    session.isOpen = false
    if (this.#lockedBy === session) this.#lockedBy = null
  }

  get lease(): { epoch: number; holder: string; renewal: string } {
    const { epoch, holder, renewal } = this.#lease
    return { epoch, holder: String(holder), renewal: String(renewal) }
  }

  get lockedBy(): Session | null {
    return this.#lockedBy
  }

  setDrained(id: string, isDrained: boolean): void {
    const engine = this.#engines.get(id)
    if (engine !== undefined) engine.isDrained = isDrained
  }

  look(session: Session, { wantsLock }: { wantsLock: boolean }): SeenLease {
    if (wantsLock) this.#lockedBy ??= session
    const { epoch, holder, hasLock, expiresAtMs, renewal, next, nextUntilMs } = this.#lease
    const leader = holder === null ? undefined : this.#engines.get(holder)
    return {
      epoch,
      holder,
      hasLock,
      isExpired: expiresAtMs < this.#wallMs(),
      renewal: String(renewal),
      next: nextUntilMs > this.#wallMs() ? next : null,
      leaderAddress: leader?.address ?? null,
      leaderCertificate: leader?.certificate ?? null,
      leaderName: leader?.name ?? null,
      gotLock: wantsLock && this.#lockedBy === session
    }
  }

  unlock(session: Session): void {
    if (this.#lockedBy === session) this.#lockedBy = null
  }

  take({ holder, hasLock, epoch, renewal, leaseMs }: Parameters<LeaseTable['take']>[0]): number | null {
    if (this.#lease.epoch !== epoch || String(this.#lease.renewal) !== renewal) return null
    const expiresAtMs = this.#wallMs() + leaseMs
    this.#lease = { ...this.#lease, epoch: epoch + 1, holder, hasLock, expiresAtMs, next: null }
    this.#lease.renewal += 1
    return epoch + 1
  }

  renew({ holder, epoch, hasLock, leaseMs }: Parameters<LeaseTable['renew']>[0]): boolean {
    if (this.#lease.holder !== holder || this.#lease.epoch !== epoch) return false
    Object.assign(this.#lease, { hasLock, expiresAtMs: this.#wallMs() + leaseMs, renewal: this.#lease.renewal + 1 })
    return true
  }

  release({ holder, epoch, next, graceMs }: Parameters<LeaseTable['release']>[0]): void {
    if (this.#lease.holder !== holder || this.#lease.epoch !== epoch) return
    const [expiresAtMs, nextUntilMs] = [this.#wallMs(), this.#wallMs() + graceMs]
    Object.assign(this.#lease, { holder: null, hasLock: false, expiresAtMs, next, nextUntilMs })
    this.#lease.renewal += 1
  }

  beat({ id, name, address, certificate }: Parameters<LeaseTable['beat']>[0]): boolean {
    const known = this.#engines.get(id)
    if (known !== undefined) return known.isDrained
    this.#engines.set(id, { name, address, certificate, isDrained: false })
    return false
  }

  leave(id: string): void {
    this.#engines.delete(id)
  }
}
