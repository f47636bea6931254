import { link, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/storage.ts'
import { findWriters } from '../../../runtime/file-trust.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Random } from '../../../runtime/random.ts'
import { DRAFT, isMissing } from '../filesystem/filesystem-blob-store.ts'

export const MARK = 'owner/place'
const OWNER = 'owner/store'
/** Files that exist only in a data directory. The blobs of a data directory are one level below it. */
const OF_DATA_DIRECTORY = ['scrapdeck.sqlite', 'engine.lock', 'secret.key']
/** The size of the probe file. It is too large to fit into an inode, so writing it fails on a full disk. */
const PROBE_BYTES = 16_384
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']

/**
 * Returns the directory's mark, and writes one if there is none. Creates no parents. `knownMark`: the mark that the
 * directory must have; null: unknown. Rejects with BLOBS_UNUSABLE.
 */
export async function takeDirectory(
  path: string,
  { knownMark, random, logger }: { knownMark: string | null; random: Pick<Random, 'hex'>; logger: Logger }
): Promise<string> {
  const refuse = (what: string, cause?: unknown) =>
    new ScrapdeckError('BLOBS_UNUSABLE', sentence('storage.blobs_in_directory_unusable', { path, what }), { cause })
  try {
    const isNew = knownMark === null && (await makeFolder(path))
    const info = await stat(path)
    if (!info.isDirectory()) throw refuse('it is not a directory.')
    const names = await readdir(path)
    if (names.some((name) => OF_DATA_DIRECTORY.includes(name)))
      throw refuse(
        `it is a data directory, whose blobs are in ${join(path, 'blobs')}. Name that, or another directory.`
      )
    if (knownMark !== null && (await readMark(path)) !== knownMark)
      throw refuse(
        `it is not the directory that was there before. Mount that, or correct the path. If you put another one in its place, write ${knownMark} into its file ${MARK}.`
      )
    const writers = isNew ? null : findWriters(info)
    if (writers !== null)
      logger.warn({ directory: path, writers }, 'others can write to the directory of the blobs, and so replace eggs')
    return await writeOnce(path, MARK, random.hex(16), random)
  } catch (error) {
    if (isMissing(error)) {
      const what = knownMark === null ? `${dirname(path)} does not exist` : 'it does not exist'
      throw refuse(`${what}. Mount or create it, or correct the path.`, error)
    }
    throw directoryError(error, path) ?? error
  }
}

export async function readMark(path: string): Promise<string | null> {
  return readText(join(path, MARK))
}

/** Returns the owner of the blobs: the one that was recorded first, or else `owner`. */
export const claimDirectory = (path: string, owner: string, random: Pick<Random, 'hex'>): Promise<string> =>
  writeOnce(path, OWNER, owner, random)

/**
 * Returns false if the folder already exists. Never creates parents: below the mount point of an unmounted share, they
 * would be on the local disk.
 */
export async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Returns the file's content: `text`, unless another engine wrote it first. */
async function writeOnce(root: string, name: string, text: string, random: Pick<Random, 'hex'>): Promise<string> {
  const path = join(root, name)
  const found = await readText(path)
  if (found !== null) return found
  await makeFolder(dirname(path))
  const draft = join(dirname(path), DRAFT + random.hex(8))
  try {
    await writeFile(draft, text, { flag: 'wx', mode: 0o600, flush: true })
    await link(draft, path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return
      if (!NO_LINKS.includes(error.code ?? '')) throw error
      // Without hard links, two engines can both write the file, and the last one wins.
      if ((await readText(path)) === null) await rename(draft, path)
    })
  } finally {
    await rm(draft, { force: true })
  }
  return (await readText(path)) ?? text
}

async function readText(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Writes and removes a file. Resolves with the file's modification time, which the file server set. */
export async function probeDirectory(root: string, random: Pick<Random, 'hex'>): Promise<number> {
  const path = join(root, dirname(MARK), DRAFT + random.hex(8))
  try {
    {
      // Close the file before reading its status: some file systems report a full disk only on close.
      await using file = await open(path, 'wx', 0o600)
      await file.write(Buffer.alloc(PROBE_BYTES))
      await file.sync()
    }
    return (await stat(path)).mtimeMs
  } finally {
    await rm(path, { force: true })
  }
}

const PERMISSION =
  'permission denied. Give the user that runs Scrapdeck read and write permission there, on every machine.'
const AWAY = 'its file system does not respond or has failed. Check the mount and the file server.'

/** What the operator must do, by system error code. Other codes do not concern the directory. */
const REMEDIES: Record<string, string> = {
  ENOSPC: 'it is full. Free some space there.',
  EDQUOT: 'the disk quota is used up. Free some space there, or raise the quota.',
  EFBIG: 'the file is larger than its file system allows.',
  EACCES: PERMISSION,
  EPERM: PERMISSION,
  EROFS: 'it is mounted read-only. Mount it for writing.',
  ENOTDIR: 'a part of the path is not a directory.',
  ...Object.fromEntries(
    ['EIO', 'ESTALE', 'ETIMEDOUT', 'EHOSTDOWN', 'EHOSTUNREACH', 'ENOTCONN', 'ENODEV', 'ENXIO', 'EREMOTEIO'].map(
      (code) => [code, AWAY]
    )
  ),
  NOT_MOUNTED: 'it is no longer there, or another directory is in its place. Mount it again.'
}

/** Returns null if the error does not concern the directory. Pure. */
export function directoryError(error: unknown, path: string): ScrapdeckError | null {
  const { code = '' } = error as NodeJS.ErrnoException
  return Object.hasOwn(REMEDIES, code) ? directoryProblem(code, path, error) : null
}

export function directoryProblem(code: string, path: string, cause?: unknown): ScrapdeckError {
  const hint = REMEDIES[code] === AWAY ? `${code}: ${AWAY}` : REMEDIES[code]!
  const text = sentence('storage.shared_blobs_unusable', { path, hint })
  return new ScrapdeckError('BLOBS_UNUSABLE', text, { data: { problem: code }, cause })
}

/** Contains no names, because anyone can see this without credentials. Pure. */
export function describeFailure(problem: ScrapdeckError | null): string | null {
  if (problem === null) return null
  const { problem: code } = problem.data as { problem: string }
  const storage = 'The blob storage (shared directory)'
  if (code === 'ENOSPC' || code === 'EDQUOT') return `${storage} is full`
  if (code === 'NOT_MOUNTED') return `${storage} is not mounted`
  if (code === 'EROFS' || REMEDIES[code] === PERMISSION) return `${storage} cannot be written`
  return `${storage} does not respond or has failed`
}
