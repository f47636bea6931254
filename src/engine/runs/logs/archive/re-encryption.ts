import type { EncryptionState } from '../../../../shared/contract/index.ts'
import { isScrapdeckError } from '../../../../shared/errors.ts'
import type { SealedBlobStore } from '../../../storage/blobs/sealed/sealed-blob-store.ts'
import { type Clock, sleep } from '../../../runtime/clock.ts'
import { type EncryptionKeys, isAllSealed } from '../../../runtime/encryption-keys.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { KeptLog, LogKey } from '../../../model/records.ts'
import type { AttemptStore, JobRetentionStore, KeptLogReader, SettingStore } from '../../../storage/store.ts'
import type { LogArchivePort } from './log-archive.ts'

interface ReEncryptionParts {
  store: Pick<KeptLogReader, 'pageKeptLogs' | 'readKeptLogs'> &
    Pick<AttemptStore, 'markLogArchived'> &
    Pick<SettingStore, 'getSetting' | 'putSetting'> &
    Pick<JobRetentionStore, 'storageSums'>
  blobs: Pick<SealedBlobStore, 'list' | 'reseal'>
  archive: Pick<LogArchivePort, 'reseal'>
  keys: EncryptionKeys
  clock: Clock
  logger: Logger
}

const TREES = ['eggs/', 'logs/', 'items/']
const PAGED = 200
/** The pause after each item, so that other work can use the disk and the store. */
const PAUSE_MS = 20
const REPORTED_EVERY_MS = 30_000
/** The time after which a log counts as settled. Until then, its run can be found again and its log archived again. */
const SETTLED_MS = 3_600_000
const AGAIN_MS = 3_600_000

/**
 * Re-encrypts, in the background, everything that is not encrypted with the newest key. Can be interrupted at any
 * time, because each file and each small log states its key. Afterwards, the earlier keys are no longer needed.
 */
export class ReEncryption {
  readonly #parts: ReEncryptionParts
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #reportedAtMs: number
  #state: EncryptionState

  constructor(parts: ReEncryptionParts) {
    this.#parts = parts
    this.#reportedAtMs = parts.clock.monotonicMs()
    const keyId = parts.keys.newest!.id
    this.#state = { keyId, state: 'sealing', sealed: 0, total: 0, lost: 0, sealedAtMs: null, problem: null }
  }

  state(): EncryptionState {
    return this.#state
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
      if (isAllSealed(record, keys)) {
        const sealedAtMs = await store.getSetting('encryption.sealedAtMs')
        this.#state = { ...this.#state, state: 'sealed', sealedAtMs }
        return
      }
      const before = this.#state.problem
      this.#state = { ...this.#state, state: 'sealing', sealed: 0, total: 0, lost: 0, problem: null }
      const left = (await this.#resealBlobs()) + (await this.#resealSmallLogs())
      const { problem } = this.#state
      if (problem !== null && before !== null) this.#state.problem = { ...problem, sinceMs: before.sinceMs }
      this.#state.state = 'waiting'
      if (left === 0 && !signal.aborted) {
        await store.putSetting('encryption.keys', keys.newest!.id)
        await store.putSetting('encryption.sealedAtMs', clock.nowMs())
        this.#state = { ...this.#state, state: 'sealed', sealedAtMs: clock.nowMs() }
        const text = 'all stored files are encrypted with the newest key; earlier keys can be removed'
        return logger.info({ keyId: keys.newest!.id }, text)
      }
      await sleep(clock, AGAIN_MS, signal)
    }
  }

  async #resealBlobs(): Promise<number> {
    const { store, blobs, clock, logger } = this.#parts
    const { signal } = this.#stopping
    const names: string[] = []
    for (const tree of TREES) names.push(...(await blobs.list(tree)).map(({ name }) => name))
    const { logs } = await store.storageSums()
    const small = logs.reduce((sum, { logs: count }) => sum + count, 0) - names.filter(isLog).length
    this.#state.total = names.length + Math.max(0, small)
    let left = 0
    for (const [index, name] of names.entries()) {
      if (signal.aborted) return left + 1
      try {
        if (await blobs.reseal(name)) this.#state.sealed += 1
        else left += 1
      } catch (error) {
        if (!this.#isLost(error)) {
          left += 1
          this.#fail(error)
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
        if (kept.log.packed === null) continue
        else if (await this.#resealSmallLog(kept, kept.log.packed)) this.#state.sealed += 1
        else left += 1
      looked += page.logs.length
      this.#report({ smallLogs: looked })
      if (page.next === null) return left
      before = page.next
      await sleep(clock, PAUSE_MS, signal)
    }
    return left + 1
  }

  async #resealSmallLog({ jobId, number, log, endedAtMs }: KeptLog, stored: Uint8Array): Promise<boolean> {
    const { store, archive, clock, logger } = this.#parts
    try {
      const packed = archive.reseal(jobId, number, stored)
      if (packed === null) return true
      if (endedAtMs === null || clock.nowMs() - endedAtMs < SETTLED_MS) return false
      const sizes = log.sizes && { ...log.sizes, storedBytes: packed.length }
      await store.markLogArchived(jobId, number, { packed, sizes })
      return true
    } catch (error) {
      if (this.#isLost(error)) return true
      this.#fail(error)
      logger.warn({ error, jobId }, WORDS)
      return false
    }
  }

  /** Whether the operator lost the key of this file, or the file was deleted in the meantime. */
  #isLost(error: unknown): boolean {
    if (isScrapdeckError(error, 'NOT_FOUND')) return true
    const keyId = isScrapdeckError(error, 'ENCRYPTION_KEY_MISSING') ? error.data['keyId'] : null
    const isLost = typeof keyId === 'string' && this.#parts.keys.lostIds.includes(keyId)
    if (isLost) this.#state.lost += 1
    return isLost
  }

  #fail(error: unknown): void {
    const { problem } = this.#state
    const text = error instanceof Error ? error.message : String(error)
    const sinceMs = problem?.sinceMs ?? this.#parts.clock.nowMs()
    this.#state.problem = { text, files: (problem?.files ?? 0) + 1, sinceMs }
  }

  #report(progress: Record<string, number>): void {
    const { clock, logger } = this.#parts
    if (clock.monotonicMs() - this.#reportedAtMs < REPORTED_EVERY_MS) return
    this.#reportedAtMs = clock.monotonicMs()
    logger.info(progress, 'sealing stored files with the newest key')
  }
}

const isLog = (name: string): boolean => name.startsWith('logs/')

const WORDS = 'a stored file could not be encrypted with the newest key yet; trying again in an hour'
