import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import type { BlobStore } from '../../storage/blobs/blob-store.ts'
import { openDirectoryBlobs } from '../../storage/blobs/directory/open-directory-blobs.ts'
import { MARK } from '../../storage/blobs/directory/shared-directory.ts'
import {
  blobsInDirectory,
  type DirectoryRules,
  openFilesystemBlobStore
} from '../../storage/blobs/filesystem/filesystem-blob-store.ts'
import { openS3Blobs } from '../../storage/blobs/s3/open-s3-blobs.ts'
import { contentOfFile } from '../../storage/blobs/s3/upload.ts'
import { isFileUrl, parseBlobsDirectory } from '../../runtime/blobs-directory.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { makePrivateDirectory } from '../../runtime/private-directory.ts'
import { systemRandom } from '../../runtime/random.ts'
import { isS3Address, parseS3Address } from '../../runtime/s3-address.ts'
import { lockDirectory } from '../../storage/sqlite/directory-lock.ts'

interface BlobPlace {
  name: string
  store: BlobStore
  /** Returns null if there is no such blob, or if its checksum is unknown. */
  sha256Of(name: string): Promise<string | null>
  close(): Promise<void>
}

export interface CopyCounts {
  copied: number
  same: number
  copiedBytes: number
  total: number
  totalBytes: number
}

const TREES = ['eggs/', 'logs/', 'items/']
const COPIED_AT_ONCE = 4

/**
 * Copies all blobs from one data directory, shared directory or `s3://…` address to another, and verifies their
 * checksums. Skips blobs that the target already has, so the next call continues an interrupted copy. Rejects with
 * BAD_INPUT, DATA_DIRECTORY_IN_USE while an engine runs on a data directory, BLOBS_UNUSABLE or BLOB_DAMAGED.
 */
export async function copyBlobs(options: {
  from: string
  to: string
  credentialsFile: string | null
  environment: Readonly<Record<string, string | undefined>>
  onProgress: (counts: CopyCounts) => void
}): Promise<CopyCounts> {
  await using opened = new AsyncDisposableStack()
  const open = async (place: string, isTarget: boolean) =>
    opened.adopt(await openPlace(place, isTarget, options), (one) => one.close())
  const from = await open(options.from, false)
  const to = await open(options.to, true)
  if (from.name === to.name)
    throw new ScrapdeckError('BAD_INPUT', sentence('api.same_source_and_destination', { from: from.name }))
  const counts: CopyCounts = { copied: 0, same: 0, copiedBytes: 0, total: 0, totalBytes: 0 }
  const work: { name: string; sizeBytes: number; isThere: boolean }[] = []
  for (const tree of TREES) {
    const there = new Map((await to.store.list(tree)).map(({ name, sizeBytes }) => [name, sizeBytes]))
    for (const { name, sizeBytes } of await from.store.list(tree)) {
      work.push({ name, sizeBytes, isThere: there.get(name) === sizeBytes })
      counts.total += 1
      counts.totalBytes += sizeBytes
    }
  }
  const limit = pLimit(COPIED_AT_ONCE)
  let hasFailed = false
  const copying = work.map(({ name, sizeBytes, isThere }) =>
    limit(async () => {
      // Finish copies in progress, but start no others.
      if (hasFailed) return
      try {
        if (isThere && (await isSame(from, to, name))) counts.same += 1
        else {
          await copyOne(from, to, name)
          counts.copied += 1
          counts.copiedBytes += sizeBytes
        }
        options.onProgress(counts)
      } catch (error) {
        hasFailed = true
        throw error
      }
    })
  )
  const results = await Promise.allSettled(copying)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return counts
}

async function isSame(from: BlobPlace, to: BlobPlace, name: string): Promise<boolean> {
  const [one, other] = await Promise.all([from.sha256Of(name), to.sha256Of(name)])
  return one !== null && one === other
}

async function copyOne(from: BlobPlace, to: BlobPlace, name: string): Promise<void> {
  await to.store.write(name, await from.store.openRead(name))
  const [before, after] = await Promise.all([from.sha256Of(name), to.sha256Of(name)])
  // An object that another program wrote has no checksum, so only its length was compared.
  if (before === null || before === after) return
  const text = sentence('api.copy_differs', { name })
  throw new ScrapdeckError('BLOB_DAMAGED', text)
}

async function openPlace(
  text: string,
  isTarget: boolean,
  options: { credentialsFile: string | null; environment: Readonly<Record<string, string | undefined>> }
): Promise<BlobPlace> {
  if (isFileUrl(text) || isBlobsDirectory(text)) return openShared(text, isTarget)
  if (!isS3Address(text)) return openDirectory(text, isTarget)
  const address = parseS3Address(text)
  const cacheDirectory = await mkdtemp(join(tmpdir(), 'scrapdeck-copy-'))
  const removeCache = () => rm(cacheDirectory, { recursive: true, force: true })
  try {
    const { store, stop } = await openS3Blobs({
      ...options,
      address,
      cacheDirectory,
      cacheBytes: 0,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger
    })
    return {
      name: address.name,
      store,
      sha256Of: (name) => store.sha256Of(name),
      async close() {
        await stop()
        await removeCache()
      }
    }
  } catch (error) {
    await removeCache()
    throw error
  }
}

async function openDirectory(directory: string, isTarget: boolean): Promise<BlobPlace> {
  const blobs = join(directory, 'blobs')
  if (!isTarget && !existsSync(blobs)) {
    const text = sentence('api.not_data_directory', { directory })
    throw new ScrapdeckError('BAD_INPUT', text)
  }
  makePrivateDirectory(directory)
  const lock = lockDirectory(directory)
  try {
    const store = await openFilesystemBlobStore(blobs)
    return { name: directory, store, ...sha256InFiles(store), close: async () => lock.release() }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Takes no lock, because other machines can use shared storage. */
async function openShared(text: string, isTarget: boolean): Promise<BlobPlace> {
  const path = isFileUrl(text) ? parseBlobsDirectory(text) : text
  if (path === null) throw new ScrapdeckError('BAD_INPUT', sentence('api.shared_directory_form'))
  if (!isTarget && !existsSync(path)) throw new ScrapdeckError('BAD_INPUT', sentence('api.no_directory', { path }))
  const base = { clock: systemClock, random: systemRandom, logger: silentLogger }
  const store = isTarget
    ? (await openDirectoryBlobs({ ...base, path, knownMark: null })).store
    : blobsInDirectory(path, NO_RULES)
  return { name: path, store, ...sha256InFiles(store), async close() {} }
}

const NO_RULES: DirectoryRules = {
  explain: (_path, work) => work(),
  async makeFolder() {},
  deleteUnused: async () => false
}

function isBlobsDirectory(path: string): boolean {
  return existsSync(join(path, MARK)) && !existsSync(join(path, 'blobs'))
}

const sha256InFiles = (store: BlobStore): Pick<BlobPlace, 'sha256Of'> => ({
  async sha256Of(name) {
    const file = await store.localFile(name)
    return file === null ? null : (await contentOfFile(file.path)).sha256
  }
})
