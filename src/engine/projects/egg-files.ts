import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobStore } from '../blobs/blob-store.ts'

/**
 * Eggs as local files, for Python to import. The blobs are what is kept; these are copies that can be made again. Each
 * stands in a folder named by its content, so an egg that is replaced never changes under a spider that runs from it.
 */
export interface EggFiles {
  /** The file, made from the blob when it is not there. Rejects with NOT_FOUND without a blob. */
  pathOf(egg: EggIdentity): Promise<string>
  /** Makes the file from these bytes, before there is a blob. */
  write(egg: EggIdentity, bytes: Uint8Array): Promise<string>
  remove(sha256: string): Promise<void>
}

export interface EggIdentity {
  sha256: string
  project: string
  version: string
}

export function createEggFiles(options: { directory: string; blobs: BlobStore }): EggFiles {
  const making = new Map<string, Promise<string>>()

  return {
    async pathOf(egg) {
      const path = place(egg)
      if (await isThere(path)) return path
      return make(path, () => options.blobs.read(`eggs/${egg.sha256}`))
    },
    write: (egg, bytes) => make(place(egg), async () => bytes),
    remove: (sha256) => rm(join(options.directory, sha256), { recursive: true, force: true })
  }

  /** pkg_resources and importlib.metadata take the distribution's name from the file's: NAME-VERSION.egg. */
  function place({ sha256, project, version }: EggIdentity): string {
    const safe = (text: string) => text.replace(/[^A-Za-z0-9_.]/g, '_').slice(0, 100)
    return join(options.directory, sha256, `${safe(project)}-${safe(version)}.egg`)
  }

  function make(path: string, read: () => Promise<Uint8Array>): Promise<string> {
    const made = making.get(path) ?? write(path, read).finally(() => making.delete(path))
    making.set(path, made)
    return made
  }

  async function write(path: string, read: () => Promise<Uint8Array>): Promise<string> {
    const bytes = await read()
    await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
    await writeFile(`${path}.part`, bytes, { mode: 0o600 })
    await rename(`${path}.part`, path)
    return path
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
