import type { BlobStore } from '../storage/blobs/blob-store.ts'
import type { StoredVersion } from '../model/records.ts'
import type { AttemptReader, VersionStore } from '../storage/store.ts'
import type { Catalog } from './catalog.ts'
import type { EggFiles } from './egg-files.ts'

export interface EggKeepingParts {
  store: AttemptReader & Pick<VersionStore, 'listVersions'>
  blobs: BlobStore
  files: EggFiles
  catalog: Catalog
}

export class EggKeeping {
  readonly #parts: EggKeepingParts
  /** Eggs that belong to no version but that spiders may still run from, with the version that they belonged to. */
  readonly #retired = new Map<string, Pick<StoredVersion, 'project' | 'version'>>()

  constructor(parts: EggKeepingParts) {
    this.#parts = parts
  }

  /**
   * Removes the egg unless another version or a running spider uses it. If a spider uses it, a later call removes it.
   */
  async removeUnused(sha256: string, was: Pick<StoredVersion, 'project' | 'version'>): Promise<void> {
    this.#retired.set(sha256, was)
    const live = await this.#parts.store.listLiveAttempts()
    const needed = await this.#eggsNeeded()
    for (const [old, { project, version }] of this.#retired) {
      const isRunning = live.some((attempt) => attempt.project === project && attempt.version === version)
      if (isRunning && !needed.has(old)) continue
      this.#retired.delete(old)
      if (!needed.has(old)) await this.#remove(old)
    }
  }

  /** Removes eggs that an earlier engine kept for its running spiders. Does nothing while any attempt is live. */
  async removeLeft(): Promise<void> {
    if ((await this.#parts.store.listLiveAttempts()).length > 0) return
    const needed = await this.#eggsNeeded()
    for (const { name } of await this.#parts.blobs.list('eggs/')) {
      const sha256 = name.slice('eggs/'.length)
      if (!needed.has(sha256)) await this.#remove(sha256)
    }
  }

  async listUnused(): Promise<string[]> {
    const names = (await this.#parts.blobs.list('eggs/')).map(({ name }) => name)
    // List the blobs before reading the versions. Otherwise, an egg stored between the two steps would seem to be
    // unused.
    const needed = await this.#eggsNeeded()
    const isUnused = (sha256: string) => !needed.has(sha256) && !this.#retired.has(sha256)
    return names.filter((name) => isUnused(name.slice('eggs/'.length)))
  }

  /** Returns false if a version uses the egg now, or if the egg is too young. */
  async deleteUnused(name: string): Promise<boolean> {
    const needed = await this.#eggsNeeded()
    return !needed.has(name.slice('eggs/'.length)) && (await this.#parts.blobs.deleteUnused(name))
  }

  /** Includes eggs that another engine has just stored. */
  async #eggsNeeded(): Promise<Set<string | null>> {
    const stored = await this.#parts.store.listVersions()
    return new Set([...this.#parts.catalog.all(), ...stored].map(({ sha256 }) => sha256))
  }

  async #remove(sha256: string): Promise<void> {
    await this.#parts.files.remove(sha256)
    await this.#parts.blobs.deleteUnused(`eggs/${sha256}`)
  }
}
