import type { BlobStore } from '../blobs/blob-store.ts'
import type { StoredVersion } from '../store/records.ts'
import type { AttemptReader } from '../store/store.ts'
import type { Catalog } from './catalog.ts'
import type { EggFiles } from './egg-files.ts'

/** Removes eggs that no version names any more, once no spider runs from them. */
export interface EggKeeping {
  /** Two versions may be the same egg, and a running spider imports from it until its end: then a later call removes it. */
  removeUnused(sha256: string, was: Pick<StoredVersion, 'project' | 'version'>): Promise<void>
  /** What an earlier engine left for spiders that ran then. While any runs, the next start looks again. */
  removeLeft(): Promise<void>
}

export function createEggKeeping(parts: {
  store: AttemptReader
  blobs: BlobStore
  files: EggFiles
  catalog: Catalog
}): EggKeeping {
  const { store, blobs, files, catalog } = parts
  /** Eggs that no version names any more, with the versions they were: spiders may still run from them. */
  const retired = new Map<string, Pick<StoredVersion, 'project' | 'version'>>()

  return {
    async removeUnused(sha256, was) {
      retired.set(sha256, was)
      const live = await store.listLiveAttempts()
      const needed = eggsNeeded()
      for (const [old, { project, version }] of retired) {
        const isRunning = live.some((attempt) => attempt.project === project && attempt.version === version)
        if (isRunning && !needed.has(old)) continue
        retired.delete(old)
        if (!needed.has(old)) await remove(old)
      }
    },
    async removeLeft() {
      if ((await store.listLiveAttempts()).length > 0) return
      const needed = eggsNeeded()
      for (const { name } of await blobs.list('eggs/')) {
        const sha256 = name.slice('eggs/'.length)
        if (!needed.has(sha256)) await remove(sha256)
      }
    }
  }

  function eggsNeeded(): Set<string | null> {
    return new Set(catalog.all().map(({ sha256 }) => sha256))
  }

  async function remove(sha256: string): Promise<void> {
    await files.remove(sha256)
    await blobs.delete(`eggs/${sha256}`)
  }
}
