import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ITEMS_BOUNDS } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import { type Clock, type Timer } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { ItemsCache } from './items-cache.ts'

const KEPT_MS = 10 * 60_000
/** How long a file is kept after its last piece was read, in case a client must read a piece again. */
const KEPT_AT_END_MS = 30_000

interface Export {
  path: string
  sizeBytes: number
  timer: Timer
}

export class Exports {
  readonly #cache: ItemsCache
  readonly #clock: Clock
  readonly #random: Random
  readonly #files = new Map<string, Export>()
  #writing = 0

  constructor(parts: { cache: ItemsCache; clock: Clock; random: Random }) {
    this.#cache = parts.cache
    this.#clock = parts.clock
    this.#random = parts.random
  }

  async add<Written extends { sizeBytes: number }>(
    write: (path: string, maxBytes: number) => Promise<Written>
  ): Promise<Written & { id: string }> {
    const { exports, exportBytes } = this.#cache.limits
    if (this.#writing >= exports) {
      throw new ScrapdeckError('TOO_MANY_REQUESTS', sentence('runs.too_many_exports', { exports }))
    }
    const id = this.#random.hex(16)
    const path = join(this.#cache.exportDirectory, id)
    this.#writing += 1
    try {
      const written = await write(path, exportBytes)
      this.#files.set(id, { path, sizeBytes: written.sizeBytes, timer: this.#expire(id, KEPT_MS) })
      for (const oldest of [...this.#files.keys()].slice(0, -exports)) await this.remove(oldest)
      return { ...written, id }
    } catch (error) {
      await rm(path, { force: true })
      throw error
    } finally {
      this.#writing -= 1
    }
  }

  async read(id: string, offset: number): Promise<{ offset: number; nextOffset: number | null; base64: string }> {
    const file = this.#files.get(id)
    if (file === undefined) throw new ScrapdeckError('NOT_FOUND', sentence('runs.export_gone'))
    const bytes = Buffer.alloc(Math.max(0, Math.min(ITEMS_BOUNDS.exportPieceBytes, file.sizeBytes - offset)))
    await using opened = await open(file.path)
    await opened.read(bytes, 0, bytes.length, offset)
    const next = offset + bytes.length
    file.timer.cancel()
    this.#files.delete(id)
    this.#files.set(id, { ...file, timer: this.#expire(id, next < file.sizeBytes ? KEPT_MS : KEPT_AT_END_MS) })
    return { offset, nextOffset: next < file.sizeBytes ? next : null, base64: bytes.toString('base64') }
  }

  async remove(id: string): Promise<void> {
    const file = this.#files.get(id)
    file?.timer.cancel()
    this.#files.delete(id)
    if (file !== undefined) await rm(file.path, { force: true })
  }

  async stop(): Promise<void> {
    for (const id of this.#files.keys()) await this.remove(id)
  }

  #expire(id: string, afterMs: number): Timer {
    return this.#clock.setTimer(afterMs, () => void this.remove(id).catch(() => {}))
  }
}
