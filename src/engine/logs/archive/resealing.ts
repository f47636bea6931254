import { isScrapdeckError } from '../../../shared/errors.ts'
import type { SealedBlobStore } from '../../blobs/sealed/sealed-blob-store.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { EncryptionKeys } from '../../runtime/encryption-keys.ts'
import type { Logger } from '../../runtime/logger.ts'
import { isAllSealed } from '../../runtime/used-keys.ts'
import type { KeptLog, LogKey } from '../../store/records.ts'
import type { AttemptStore, KeptLogReader, SettingStore } from '../../store/store.ts'
import type { LogArchivePort } from './log-archive.ts'

interface ResealingParts {
  store: Pick<KeptLogReader, 'pageKeptLogs' | 'readKeptLogs'> &
    Pick<AttemptStore, 'markLogArchived'> &
    Pick<SettingStore, 'getSetting' | 'putSetting'>
  blobs: Pick<SealedBlobStore, 'list' | 'reseal'>
  archive: Pick<LogArchivePort, 'reseal'>
  keys: EncryptionKeys
  clock: Clock
  logger: Logger
}

const TREES = ['eggs/', 'logs/', 'items/']
const PAGED = 200
/** After each, so that others can use the disk and the store. */
const PAUSE_MS = 20
const REPORTED_EVERY_MS = 30_000
/** A log of a run that ended lately may be archived once more, when the run comes back. */
const SETTLED_MS = 3_600_000
const AGAIN_MS = 3_600_000

/**
 * Seals with the newest key what an earlier key sealed, or none, in the background. It can be interrupted at any time:
 * each file and each small log says itself what it is sealed with. Once all are, the store records it, and the earlier
 * keys are no longer needed.
 */
export class Resealing {
  readonly #parts: ResealingParts
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #reportedAtMs: number

  constructor(parts: ResealingParts) {
    this.#parts = parts
    this.#reportedAtMs = parts.clock.monotonicMs()
  }

  start(): void {
    this.#running = this.#run().catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) this.#parts.logger.warn({ error }, WORDS)
    })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { store, keys, clock, logger } = this.#parts
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const record = (await store.getSetting('encryption.keys')) ?? ''
      if (isAllSealed(record, keys)) return
      const left = (await this.#resealBlobs()) + (await this.#resealSmallLogs())
      if (left === 0 && !signal.aborted) {
        await store.putSetting('encryption.keys', keys.newest!.id)
        const text = 'all stored files are sealed with the newest key; earlier keys can be removed'
        return logger.info({ keyId: keys.newest!.id }, text)
      }
      await sleep(clock, AGAIN_MS, signal)
    }
  }

  /** Returns how many are still to be sealed. */
  async #resealBlobs(): Promise<number> {
    const { blobs, clock, logger } = this.#parts
    const { signal } = this.#stopping
    const names: string[] = []
    for (const tree of TREES) names.push(...(await blobs.list(tree)).map(({ name }) => name))
    let left = 0
    for (const [index, name] of names.entries()) {
      if (signal.aborted) return left + 1
      try {
        if (!(await blobs.reseal(name))) left += 1
      } catch (error) {
        if (!this.#isLost(error)) {
          left += 1
          logger.warn({ error, name }, WORDS)
        }
      }
      this.#report({ files: index + 1, of: names.length })
      await sleep(clock, PAUSE_MS, signal)
    }
    return left
  }

  async #resealSmallLogs(): Promise<number> {
    const { store, clock } = this.#parts
    const { signal } = this.#stopping
    let left = 0
    let looked = 0
    for (let before: LogKey | null = null; !signal.aborted; ) {
      const page = await store.pageKeptLogs({}, { before, limit: PAGED, candidates: null })
      for (const kept of await store.readKeptLogs(page.logs.map(({ jobId, number }) => ({ jobId, number }))))
        if (!(await this.#resealSmallLog(kept))) left += 1
      looked += page.logs.length
      this.#report({ smallLogs: looked })
      if (page.next === null) return left
      before = page.next
      await sleep(clock, PAUSE_MS, signal)
    }
    return left + 1
  }

  async #resealSmallLog({ jobId, number, log, endedAtMs }: KeptLog): Promise<boolean> {
    const { store, archive, clock, logger } = this.#parts
    if (log.packed === null) return true
    try {
      const packed = archive.reseal(jobId, number, log.packed)
      if (packed === null) return true
      if (endedAtMs === null || clock.nowMs() - endedAtMs < SETTLED_MS) return false
      const sizes = log.sizes && { ...log.sizes, storedBytes: packed.length }
      await store.markLogArchived(jobId, number, { packed, sizes })
      return true
    } catch (error) {
      if (this.#isLost(error)) return true
      logger.warn({ error, jobId }, WORDS)
      return false
    }
  }

  /** Nothing can be done about a file whose key the operator has lost, nor for one that was deleted meanwhile. */
  #isLost(error: unknown): boolean {
    if (isScrapdeckError(error, 'NOT_FOUND')) return true
    const keyId = isScrapdeckError(error, 'ENCRYPTION_KEY_MISSING') ? error.data['keyId'] : null
    return typeof keyId === 'string' && this.#parts.keys.lostIds.includes(keyId)
  }

  #report(progress: Record<string, number>): void {
    const { clock, logger } = this.#parts
    if (clock.monotonicMs() - this.#reportedAtMs < REPORTED_EVERY_MS) return
    this.#reportedAtMs = clock.monotonicMs()
    logger.info(progress, 'sealing stored files with the newest key')
  }
}

const WORDS = 'a stored file could not be sealed with the newest key yet; trying again in an hour'
