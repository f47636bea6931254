import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { ScrapdeckError } from '../../src/shared/errors.ts'
import type { BlobStore } from '../../src/engine/storage/blobs/blob-store.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { createNextEntry } from '../../src/engine/storage/audit/audited-store.ts'
import { openSqliteStoreHere } from '../../src/engine/storage/sqlite/sqlite-store.ts'
import type { Store } from '../../src/engine/storage/store.ts'
import { type Life, noAnswer } from './life.ts'
import type { VirtualTime } from './time.ts'

/** Receives the store's calls and results in order. A write refused because the disk was full is `METHOD refused`. */
export type StoreWitness = (method: string, parameters: unknown[], answer: unknown) => void

export const READS = /^(get|list|count|find|read|changeCursor)/

/**
 * The disk of the engine's machine. It outlives every life of the engine. The database is a real SQLite database, and
 * blobs are in memory.
 */
export class Disk {
  isFull = false
  readonly #directory: string
  readonly #time: VirtualTime
  readonly #blobs = new Map<string, Uint8Array>()

  /** `template` is a database with the newest schema, created once per process. */
  constructor(options: { directory: string; template: string; time: VirtualTime }) {
    this.#directory = options.directory
    this.#time = options.time
    mkdirSync(this.#directory, { recursive: true })
    copyFileSync(options.template, this.databasePath)
  }

  get databasePath(): string {
    return join(this.#directory, 'scrapdeck.sqlite')
  }

  get directory(): string {
    return this.#directory
  }

  putBlob(name: string, content: Uint8Array): void {
    this.#blobs.set(name, content)
  }

  /**
   * The store as one life sees it. Writes reach the database in the next turn of the event loop: all those of one
   * turn or, if the life ends first, none of them, so a kill leaves the same state as a real one.
   */
  openStore(life: Life, real: Store, witness: StoreWitness): Store {
    const time = this.#time
    const entries = createNextEntry()
    let waiting: { make: () => Promise<unknown>; refuse: (error: unknown) => void }[] = []
    let diesAtFlush = false

    const flush = () => {
      const asked = waiting
      waiting = []
      time.busy -= asked.length
      if (life.isOver) return
      for (const { make, refuse } of asked) {
        if (this.isFull) refuse(diskFull(this.databasePath))
        else void make()
      }
      if (diesAtFlush) life.die()
    }

    const write = (method: string, parameters: unknown[], call: () => Promise<unknown>): Promise<unknown> => {
      const counted = life.count(`store.${method}`)
      if (counted === 'refused') return noAnswer()
      if (counted === 'last') diesAtFlush = true
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(flush)
        time.busy += 1
        const make = () => this.#counted(life, method, parameters, call, witness).then(resolve, reject)
        const refuse = (error: unknown) => {
          witness(`${method} refused`, parameters, null)
          reject(error)
        }
        waiting.push({ make, refuse })
      })
    }

    return new Proxy(real, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property)
        if (typeof value !== 'function' || typeof property !== 'string') return value
        if (property === 'withAudit') return entries.withAudit
        if (property === 'onChange' || property === 'onQueueChange') {
          return (listener: (news: unknown) => void) =>
            value.call(target, (news: unknown) => {
              if (!life.isOver) listener(news)
            })
        }
        return (...parameters: unknown[]) => {
          const call = () => value.apply(target, parameters) as Promise<unknown>
          if (property === 'close') return life.isOver ? noAnswer() : call()
          if (!READS.test(property)) {
            const entry = entries.take()
            return write(property, parameters, entry === null ? call : () => real.withAudit(entry, call))
          }
          return life.count(`store.${property}`) === 'made'
            ? this.#counted(life, property, parameters, call, witness)
            : (life.die(), noAnswer())
        }
      }
    })
  }

  async #counted(
    life: Life,
    method: string,
    parameters: unknown[],
    call: () => Promise<unknown>,
    witness: StoreWitness
  ): Promise<unknown> {
    this.#time.busy += 1
    try {
      const answer = await call()
      witness(method, parameters, answer)
      return life.isOver ? noAnswer() : answer
    } catch (error) {
      if (life.isOver) return noAnswer()
      throw error
    } finally {
      this.#time.busy -= 1
    }
  }

  blobs(life: Life): BlobStore {
    const files = this.#blobs
    const read = (name: string) => {
      const content = files.get(name)
      if (content === undefined) throw new ScrapdeckError('NOT_FOUND', `There is no blob ${name}`)
      return content
    }
    return {
      write: async (name, content) => {
        const pieces: Uint8Array[] = []
        if (content instanceof Uint8Array) pieces.push(content)
        else for await (const piece of content) pieces.push(piece as Uint8Array)
        if (life.isOver) return noAnswer()
        if (this.isFull) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
        const whole = Buffer.concat(pieces)
        files.set(name, whole)
        return { sizeBytes: whole.length }
      },
      read: async (name) => read(name),
      openRead: async (name) => Readable.from([read(name)]),
      adopt: async () => {
        throw new Error('Not simulated')
      },
      localFile: async () => null,
      openAt: async () => null,
      has: async (name) => files.has(name),
      delete: async (name) => void (life.isOver || files.delete(name)),
      async deleteUnused(name) {
        if (!life.isOver) files.delete(name)
        return true
      },
      list: async (prefix) =>
        [...files]
          .filter(([name]) => name.startsWith(prefix))
          .map(([name, content]) => ({ name, sizeBytes: content.length }))
    }
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

/** Like explainSqliteError for SQLITE_FULL. */
export function diskFull(path: string): ScrapdeckError {
  const cause = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  return new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', `${path}: the disk is full. Free some space and start again.`, {
    cause
  })
}

export async function makeTemplate(path: string): Promise<void> {
  const store = await openSqliteStoreHere({ path, clock: systemClock, logger: silentLogger })
  await store.close()
}
