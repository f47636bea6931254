import { ScrapdeckError } from '../../src/shared/errors.ts'
import type { FakeDatabase } from '../../src/engine/cluster/leadership/testing/fake-database.ts'
import { FakeLeaseClient } from '../../src/engine/cluster/leadership/testing/fake-lease-client.ts'
import type { Chance } from './chance.ts'
import type { Life } from './life.ts'
import type { VirtualTime } from './time.ts'

export class DatabaseLink {
  readonly lease: FakeLeaseClient
  /** Whether the response to the next write is lost with the connection, although the write takes effect. */
  losesNextCommit = false
  /** Called once, just before the leader claims jobs. */
  onClaim: (() => void) | null = null
  #holdsAnswers = false
  /** Results that the store awaits. `lose`: fails the call, as if the connection had ended first. */
  #held: { arrive: () => void; lose: () => void }[] = []

  constructor({ life, time, database, chance }: Parts) {
    this.lease = new FakeLeaseClient({
      database,
      isDatabaseUp: () => true,
      onItsWayMs: () => chance.between(1, 20),
      run: (callback) => life.run(callback),
      after: (delayMs, callback) => void time.after(delayMs, callback)
    })
    life.whenOver(() => this.lease.lose())
  }

  get isCut(): boolean {
    return this.lease.isCut
  }

  /** Blocks all traffic in both directions until `heal`. */
  cut(): void {
    this.lease.isCut = true
  }

  /** Delays the store's results until `releaseAnswers`, as on a slow network. */
  holdAnswers(): void {
    this.#holdsAnswers = true
  }

  releaseAnswers(): void {
    this.#holdsAnswers = false
    if (!this.isCut) for (const { arrive } of this.#held.splice(0)) arrive()
  }

  back(arrive: () => void, lose: () => void): void {
    if (this.#holdsAnswers) this.#held.push({ arrive, lose })
    else this.through(arrive, lose)
  }

  through(arrive: () => void, lose: () => void): void {
    if (this.isCut) this.#held.push({ arrive, lose })
    else arrive()
  }

  /** Ends the blockade. `resumes`: whether data in flight arrives. If false, the connections are gone. */
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

/** The error of a store on PostgreSQL (postgres-error.ts). */
export const connectionLost = (): ScrapdeckError =>
  new ScrapdeckError('DATABASE_UNUSABLE', 'the database: the connection was lost. Scrapdeck reconnects automatically.')
