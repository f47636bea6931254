import { ScrapdeckError } from '../../src/shared/errors.ts'
import type { FakeDatabase } from '../../src/engine/cluster/leadership/testing/fake-database.ts'
import { FakeLeaseClient } from '../../src/engine/cluster/leadership/testing/fake-lease-client.ts'
import type { Chance } from './chance.ts'
import type { Life } from './life.ts'
import type { VirtualTime } from './time.ts'

/** The network between one engine and the database: that of its lease, and that of its store. */
export class DatabaseLink {
  readonly lease: FakeLeaseClient
  /** The next write takes effect, and its answer is lost with the connection. */
  losesNextCommit = false
  /** Called once, as the leader is about to claim jobs. */
  onClaim: (() => void) | null = null
  #holdsAnswers = false
  /** What the store waits for. `lost`: the connection ended first. */
  #held: { arrive: () => void; lose: () => void }[] = []

  /** `life`: of the process. */
  constructor({ life, time, database, chance }: Parts) {
    this.lease = new FakeLeaseClient({
      ...{ database, isDatabaseUp: () => true, onItsWayMs: () => chance.between(1, 20) },
      run: (callback) => life.run(callback),
      after: (delayMs, callback) => void time.after(delayMs, callback)
    })
    life.whenOver(() => this.lease.lose())
  }

  get isCut(): boolean {
    return this.lease.isCut
  }

  /** Nothing gets through, in either direction, until `heal`. */
  cut(): void {
    this.lease.isCut = true
  }

  /** What the store has done is known later, as on a slow network: until `releaseAnswers`. */
  holdAnswers(): void {
    this.#holdsAnswers = true
  }

  releaseAnswers(): void {
    this.#holdsAnswers = false
    if (!this.isCut) for (const { arrive } of this.#held.splice(0)) arrive()
  }

  /** As `through`, for an answer. */
  back(arrive: () => void, lose: () => void): void {
    if (this.#holdsAnswers) this.#held.push({ arrive, lose })
    else this.through(arrive, lose)
  }

  /** Calls one of both once the network is there. */
  through(arrive: () => void, lose: () => void): void {
    if (this.isCut) this.#held.push({ arrive, lose })
    else arrive()
  }

  /** `resumes`: what was on its way arrives; otherwise the connections are gone. */
  heal(how: { resumes: boolean }): void {
    this.lease.heal(how)
    for (const { arrive, lose } of this.#held.splice(0)) (how.resumes ? arrive : lose)()
  }
}

interface Parts {
  life: Life
  time: VirtualTime
  database: FakeDatabase
  chance: Chance
}

/** As a store on PostgreSQL says it (postgres-error.ts). */
export const connectionLost = (): ScrapdeckError =>
  new ScrapdeckError('DATABASE_UNUSABLE', 'the database: the connection was lost. Scrapdeck connects again by itself.')
