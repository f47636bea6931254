import { join } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { createJobIds } from '../../src/engine/runtime/ids.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { systemRandom } from '../../src/engine/runtime/random.ts'
import { openSqliteStoreHere } from '../../src/engine/storage/sqlite/sqlite-store.ts'

export interface BareJob {
  id: string
  project: string
  spider: string
  args?: Record<string, string>
}

/** The writes of the bounds: bare statements on our tables and indexes, with the durability of the store. */
export class BareDatabase {
  readonly #database: Database
  readonly #insertJob
  readonly #claim
  readonly #insertAttempt
  readonly #insertEntry
  readonly #moveAttempt
  readonly #runJob
  readonly #endJob
  readonly #insertFiring
  readonly newId = createJobIds(systemClock, systemRandom)

  /** `directory` must be on the disk to measure. If it already contains a database, that database is used. */
  static async open(directory: string): Promise<BareDatabase> {
    const path = join(directory, 'scrapdeck.sqlite')
    await (await openSqliteStoreHere({ path, clock: systemClock, logger: silentLogger })).close()
    return new BareDatabase(path)
  }

  private constructor(path: string) {
    const database = new DatabaseConstructor(path)
    this.#database = database
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    database.pragma('cache_size = -65536')
    database.pragma('wal_autocheckpoint = 16000')
    this.#insertJob = database.prepare(`INSERT INTO jobs (id, jobid, project, version, spider, settings, args, priority,
      placement_tags, lane, source, state, queued_at_ms, rank, asked_text)
      VALUES (?, ?, ?, '1', ?, '{}', ?, 0, '[]', ?, 'api', 'queued', ?, ?, 'Asked through the API')`)
    this.#claim = database.prepare(
      `UPDATE jobs SET state = 'starting', node_id = ?, attempt_count = 1 WHERE id = ? AND state = 'queued'`
    )
    this.#insertAttempt =
      database.prepare(`INSERT INTO attempts (job_id, number, jobid, node_id, project, version, spider,
      state, sent_at_ms) SELECT id, 1, id, node_id, project, '1', spider, 'sending', ? FROM jobs WHERE id = ?`)
    this.#insertEntry = database.prepare(
      "INSERT INTO transitions (job_id, attempt_number, at_ms, kind, text, evidence) VALUES (?, 1, ?, ?, ?, '{}')"
    )
    this.#moveAttempt = database.prepare(
      `UPDATE attempts SET state = ?, result = ?, ended_at_ms = ? WHERE job_id = ? AND number = 1`
    )
    this.#runJob = database.prepare("UPDATE jobs SET state = 'running', started_at_ms = ? WHERE id = ?")
    this.#endJob = database.prepare(
      `UPDATE jobs SET state = 'ended', outcome = 'succeeded', reason = 'finished', ended_at_ms = ?, items = 10 WHERE id = ?`
    )
    this.#insertFiring =
      database.prepare(`INSERT INTO firings (schedule_id, nominal_ms, origin, at_ms, state, reason, text,
      job_ids) VALUES (?, ?, 'tick', ?, 'fired', 'on_time', 'on time', ?)`)
  }

  enqueue(jobs: readonly BareJob[]): void {
    const nowMs = Date.now()
    this.#transaction(() => {
      for (const [index, job] of jobs.entries()) this.#insert(job, nowMs, index)
    })
  }

  listQueued(): BareJob[] {
    const queued = this.#database.prepare<[], BareJob>(
      "SELECT id, project, spider FROM jobs WHERE state = 'queued' ORDER BY id"
    )
    return queued.all()
  }

  begin(ids: readonly string[], nodeId: string): void {
    const nowMs = Date.now()
    this.#transaction(() => {
      for (const id of ids) {
        this.#claim.run(nodeId, id)
        this.#insertAttempt.run(nowMs, id)
        this.#insertEntry.run(id, nowMs, 'sending', `Sent to ${nodeId}`)
      }
    })
  }

  move(ids: readonly string[], state: 'accepted' | 'finishing'): void {
    const nowMs = Date.now()
    this.#transaction(() => {
      for (const id of ids) {
        this.#moveAttempt.run(state, null, null, id)
        this.#insertEntry.run(id, nowMs, state, `The node shows ${state}`)
      }
    })
  }

  run(ids: readonly string[]): void {
    const nowMs = Date.now()
    this.#transaction(() => {
      for (const id of ids) {
        this.#moveAttempt.run('running', null, null, id)
        this.#runJob.run(nowMs, id)
        this.#insertEntry.run(id, nowMs, 'running', 'The node shows running')
      }
    })
  }

  end(ids: readonly string[]): void {
    const nowMs = Date.now()
    this.#transaction(() => {
      for (const id of ids) {
        this.#moveAttempt.run('ended', 'succeeded', nowMs, id)
        this.#endJob.run(nowMs, id)
        this.#insertEntry.run(id, nowMs, 'ended', 'Succeeded')
      }
    })
  }

  together(work: () => void): void {
    this.#transaction(work)
  }

  fire(scheduleIds: readonly string[], nominalMs: number): void {
    const nowMs = Date.now()
    this.#transaction(() => {
      for (const [index, scheduleId] of scheduleIds.entries()) {
        const id = this.newId()
        this.#insert({ id, project: 'noop', spider: 'noop' }, nowMs, index)
        this.#insertFiring.run(scheduleId, nominalMs, nowMs, JSON.stringify([id]))
      }
    })
  }

  close(): void {
    this.#database.close()
  }

  #insert({ id, project, spider, args = {} }: BareJob, nowMs: number, rank: number): void {
    const lane = JSON.stringify([project, '1', null, [], spider])
    this.#insertJob.run(id, id, project, spider, JSON.stringify(args), lane, nowMs, rank)
  }

  #transaction(work: () => void): void {
    if (this.#database.inTransaction) work()
    else this.#database.transaction(work).immediate()
  }
}
