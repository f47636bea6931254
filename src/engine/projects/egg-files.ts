import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { copyFile, link, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import { KeyedSingleFlight } from '../runtime/single-flight.ts'

const HASHED_AT_ONCE_BYTES = 1_048_576

export interface EggIdentity {
  sha256: string
  project: ProjectName
  version: VersionName
}

/**
 * Local copies of eggs for Python to import, in folders named by hash, so that a new egg never changes a running
 * spider.
 */
export class EggFiles {
  readonly #directory: string
  readonly #blobs: BlobStore
  readonly #writing = new KeyedSingleFlight<string, string>()

  constructor(options: { directory: string; blobs: BlobStore }) {
    this.#directory = options.directory
    this.#blobs = options.blobs
  }

  /** Returns the file's path and restores a missing file from its blob. Rejects with NOT_FOUND if there is no blob. */
  async pathOf(egg: EggIdentity): Promise<string> {
    const path = this.#place(egg)
    if (await isThere(path)) return path
    return this.#writeOnce(path, () => this.#blobs.openRead(`eggs/${egg.sha256}`))
  }

  write(egg: EggIdentity, source: string): Promise<string> {
    return this.#writeOnce(this.#place(egg), async () => createReadStream(source))
  }

  /** Stores the file as a blob. Blobs on the same disk share the file's bytes, which nothing changes in place. */
  async storeBlob(egg: EggIdentity): Promise<void> {
    const path = this.#place(egg)
    const other = `${path}.blob`
    await rm(other, { force: true })
    await link(path, other).catch(() => copyFile(path, other))
    await this.#blobs.adopt(`eggs/${egg.sha256}`, other)
  }

  remove(sha256: string): Promise<void> {
    return rm(join(this.#directory, sha256), { recursive: true, force: true })
  }

  #place(egg: EggIdentity): string {
    return placeOfEgg(this.#directory, egg)
  }

  #writeOnce(path: string, read: () => Promise<Readable>): Promise<string> {
    return this.#writing.run(path, () => write(path, read))
  }
}

/** pkg_resources and importlib.metadata derive the distribution's name from the file name, NAME-VERSION.egg. */
export function placeOfEgg(directory: string, { sha256, project, version }: EggIdentity): string {
  const safe = (text: string) => text.replace(/[^A-Za-z0-9_.]/g, '_').slice(0, 100)
  return join(directory, sha256, `${safe(project)}-${safe(version)}.egg`)
}

async function write(path: string, read: () => Promise<Readable>): Promise<string> {
  const content = await read()
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
  await pipeline(content, createWriteStream(`${path}.part`, { mode: 0o600 }))
  await rename(`${path}.part`, path)
  return path
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Reuses one buffer. Streaming a large egg would produce 60 MB of garbage. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  const piece = Buffer.alloc(HASHED_AT_ONCE_BYTES)
  await using file = await open(path)
  for (;;) {
    const { bytesRead } = await file.read(piece)
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(piece.subarray(0, bytesRead))
  }
}
