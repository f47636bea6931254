import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { EncryptionKeys } from '../../runtime/encryption-keys.ts'
import { makePrivateDirectory } from '../../runtime/private-directory.ts'
import { checkSnapshot, filesOfRows, pauseDispatch } from '../../storage/sqlite/snapshot.ts'
import { type BackupHead, type Contents, damaged, readArchive, type ReadingBackup } from './archive.ts'
import { draftBeside } from '../../runtime/left-by-killed.ts'
import { nameOfRow } from './make-backup.ts'
import { SEALED } from '../../storage/blobs/sealed/sealed-blob-store.ts'
import { DATABASE } from './what-is-kept.ts'

export interface CheckedBackup {
  head: BackupHead
  contents: Contents
  isSealed: boolean
}

interface Reading {
  source: Readable
  keys: EncryptionKeys
  report: (files: number, bytes: number) => void
}

/** Checks every frame and file, the database, and whether each referenced file exists. Rejects as readArchive does. */
export async function verifyBackup(reading: Reading): Promise<CheckedBackup> {
  // The database can only be checked as a file.
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-verify-'))
  try {
    return await readWhole(
      reading,
      async (name, content) => {
        if (name === DATABASE) return writeFile(join(directory, name), content)
        for await (const _ of content) {
          // Reading the file is enough, because reading also hashes it.
        }
      },
      directory
    )
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/**
 * Creates a data directory from a backup, or leaves nothing behind if it fails. Rejects with STORE_NOT_EMPTY, with
 * DATA_DIRECTORY_UNUSABLE (a full disk), or as readArchive does.
 */
export async function restoreBackup(
  reading: Reading & { directory: string; isPaused: boolean }
): Promise<CheckedBackup> {
  const target = resolve(reading.directory)
  await requireEmpty(target)
  try {
    makePrivateDirectory(dirname(target))
    const draft = await draftBeside(target)
    await mkdir(draft, { mode: 0o700 })
    try {
      const made = new Set<string>()
      const result = await readWhole(
        reading,
        async (name, content) => {
          const path = join(draft, name)
          if (!made.has(dirname(path))) await mkdir(dirname(path), { recursive: true, mode: 0o700 })
          made.add(dirname(path))
          await writeFile(path, content)
        },
        draft
      )
      if (reading.isPaused) pauseDispatch(join(draft, DATABASE))
      for (const path of [join(draft, DATABASE), ...made, draft, dirname(target)]) await sync(path)
      // Fails unless the target is missing or an empty directory.
      await rename(draft, target)
      return result
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  } catch (error) {
    throw explain(error, target)
  }
}

async function readWhole(
  { source, keys, report }: Reading,
  onFile: ReadingBackup['onFile'],
  directory: string
): Promise<CheckedBackup> {
  const names = new Set<string>()
  let [files, bytes] = [0, 0]
  const result = await readArchive(source, keys, {
    onHead() {},
    async onFile(name, content) {
      names.add(name)
      await onFile(
        name,
        counted(content, (count) => (bytes += count))
      )
      report((files += 1), bytes)
    }
  })
  if (!names.has(DATABASE)) throw damaged(`it has no ${DATABASE}`)
  checkSnapshot(join(directory, DATABASE))
  if (result.head.blobsAt === null) {
    const isThere = (name: string) => names.has(`blobs/${name}`) || names.has(`blobs/${name}${SEALED}`)
    const lost = filesOfRows(join(directory, DATABASE)).filter((row) => !isThere(nameOfRow(row)))
    if (lost.length !== result.contents.missingCount)
      throw damaged(`its database names ${lost.length} files that are not in it`)
  }
  return result
}

async function* counted(content: AsyncIterable<Uint8Array>, add: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    add(piece.length)
    yield piece
  }
}

const writeFile = (path: string, content: AsyncIterable<Uint8Array>): Promise<void> =>
  pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }))

async function sync(path: string): Promise<void> {
  if (process.platform === 'win32') return
  await using file = await open(path)
  await file.sync()
}

async function requireEmpty(directory: string): Promise<void> {
  const entries = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw explain(error, directory)
  })
  if (entries.length === 0) return
  const text = sentence('storage.directory_not_empty', { directory })
  throw new ScrapdeckError('STORE_NOT_EMPTY', text)
}

function explain(error: unknown, directory: string): unknown {
  const problem = PROBLEMS[(error as NodeJS.ErrnoException).code ?? '']
  if (error instanceof ScrapdeckError || problem === undefined) return error
  const text = sentence('storage.not_restored', { directory, problem })
  return new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', text, { cause: error })
}

const PROBLEMS: Record<string, string> = {
  ENOSPC: 'the disk is full. Free some space, or name a directory on another disk',
  EDQUOT: 'the disk quota is used up. Free some space, or name a directory on another disk',
  EACCES: 'permission denied. Run the command as the user of the service',
  EPERM: 'permission denied. Run the command as the user of the service',
  EROFS: 'the file system is read-only. Name a directory on another one',
  ENOTDIR: 'a part of the path is not a directory',
  EBUSY: 'it is where a volume is mounted. Name a directory below it',
  EXDEV: 'it is where a volume is mounted. Name a directory below it'
}
