import { createReadStream, statSync } from 'node:fs'
import { type FileHandle, open, realpath, rm, stat, statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { BlobStore } from '../../storage/blobs/blob-store.ts'
import { SEALED } from '../../storage/blobs/sealed/sealed-blob-store.ts'
import { planFrames } from '../../storage/blobs/sealed/sealed-format.ts'
import { archiveName } from '../../runs/logs/archive/log-archive.ts'
import type { Clock } from '../../runtime/clock.ts'
import { findOwner, isOthers } from '../../runtime/file-trust.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import { copyStore } from '../../storage/copy/copy-store.ts'
import { type FileOfRow, filesOfRows, snapshotSqlite } from '../../storage/sqlite/snapshot.ts'
import { archiveOf, type BackupFile, type BackupHead, type SealWith } from './archive.ts'
import { filesBelow, isInTheWay, HeldFiles, type HeldFile } from './held-files.ts'
import { openOwnFile } from '../../runtime/regular-file.ts'
import { BLOB_FOLDERS, DATABASE, HELD_FOLDERS, OTHER_FILES, OTHER_FOLDERS, SECRET_FILES } from './what-is-kept.ts'

export interface BackupSource {
  dataDirectory: string
  postgres: PostgresAddress | null
  blobs:
    | { kind: 'files'; directory: string }
    /** Blobs that are read one by one, for example from S3. */
    | { kind: 'store'; store: Pick<BlobStore, 'list' | 'openRead'> }
    /** Blobs that are not in the backup. `place` is for display. */
    | { kind: 'elsewhere'; place: string }
}

export interface BackupProgress {
  step: 'holding' | 'database' | 'files'
  files: number
  bytes: number
}

export interface MadeBackup {
  head: BackupHead
  files: number
  bytes: number
  /** Files that the database names but that do not exist. */
  missing: string[]
  leftOut: string[]
}

interface Making extends BackupSource {
  scrapdeckVersion: string
  keys: SealWith
  withSecrets: boolean
  clock: Clock
  signal: AbortSignal
  report: (progress: BackupProgress) => void
  write: (bytes: AsyncIterable<Uint8Array>) => Promise<void>
}

/**
 * The maximum number of snapshots. A snapshot can name files that were deleted before they could be held. Each new
 * snapshot names fewer of them.
 */
const SNAPSHOTS_MAX = 5
const SPARE_BYTES = 64_000_000

/**
 * Writes a backup of a data directory as of one point in time, even if an engine is using the directory. Rejects with
 * BAD_INPUT, DATA_DIRECTORY_UNUSABLE (also for a full disk), database errors, and errors from `write`.
 */
export async function makeBackup(making: Making): Promise<MadeBackup> {
  const { dataDirectory, blobs, postgres, clock, signal, report, keys } = making
  requireOwn(dataDirectory)
  if (making.withSecrets && keys === null)
    throw new ScrapdeckError('BAD_INPUT', sentence('storage.secrets_need_encryption'))
  await using opened = new AsyncDisposableStack()
  const holds = await openHolds(making, opened)
  const database = join(holds.ofData.directory, DATABASE)
  let rows: FileOfRow[] = []
  let missing: string[] = []
  report({ step: 'holding', files: 0, bytes: 0 })
  await holds.take(signal)
  for (let turn = 1; turn <= SNAPSHOTS_MAX; turn += 1) {
    signal.throwIfAborted()
    report({ step: 'database', files: 0, bytes: 0 })
    await takeSnapshot(making, holds.ofData.directory, database)
    rows = filesOfRows(database)
    await holds.take(signal)
    const before = missing.join('\n')
    missing = blobs.kind === 'files' ? rows.filter((row) => findHeld(holds.ofBlobs, row) === null).map(nameOfRow) : []
    // If two consecutive snapshots name the same missing files, those files are lost.
    if (missing.length === 0 || missing.join('\n') === before) break
  }
  const head: BackupHead = {
    format: 1,
    scrapdeckVersion: making.scrapdeckVersion,
    madeAtMs: clock.nowMs(),
    hostname: hostname(),
    database: postgres === null ? 'sqlite' : 'postgres',
    blobsAt: blobs.kind === 'elsewhere' ? blobs.place : null,
    hasSecrets: making.withSecrets
  }
  let [files, bytes] = [0, 0]
  const listed = filesOf({ making, holds, database, rows, missing })
  const archive = archiveOf(head, { files: listed, missing: () => missing }, keys, ({ sizeBytes }) => {
    files += 1
    bytes += sizeBytes
    report({ step: 'files', files, bytes })
  })
  await making.write(untilAborted(archive, signal))
  return { head, files, bytes, missing, leftOut: [...holds.ofData.leftOut] }
}

/**
 * Requires that the current user owns the directory. Otherwise, SQLite would create files that the service cannot
 * open.
 */
function requireOwn(dataDirectory: string): void {
  const info = statSync(dataDirectory, { throwIfNoEntry: false })
  if (info === undefined)
    throw new ScrapdeckError('BAD_INPUT', sentence('storage.no_data_directory', { dataDirectory }))
  if (!isOthers(info)) return
  const text = sentence('storage.directory_of_another_user', { dataDirectory, owner: findOwner(info) })
  throw new ScrapdeckError('BAD_INPUT', text)
}

interface Holds {
  ofData: HeldFiles
  ofBlobs: HeldFiles
  take(signal: AbortSignal): Promise<void>
}

/** Hard links work only within one disk, and the blob directory can be on another. */
async function openHolds({ dataDirectory, blobs }: Making, opened: AsyncDisposableStack): Promise<Holds> {
  const trees = HELD_FOLDERS.map((folder) => ({ folder, directory: join(dataDirectory, folder) }))
  const root = blobs.kind === 'files' ? await realpath(blobs.directory).catch(() => null) : null
  const ofBlobs = BLOB_FOLDERS.map((folder) => ({ folder: `blobs/${folder}`, directory: join(root ?? '', folder) }))
  const isBeside = root === null || (await stat(root)).dev === (await stat(dataDirectory)).dev
  const all = [...trees, ...(root === null ? [] : ofBlobs)]
  const held = opened.use(await HeldFiles.open(dataDirectory, isBeside ? all : trees))
  if (isBeside) return { ofData: held, ofBlobs: held, take: (signal) => held.take(signal) }
  const apart = opened.use(await HeldFiles.open(root, ofBlobs))
  return {
    ofData: held,
    ofBlobs: apart,
    async take(signal) {
      await held.take(signal)
      await apart.take(signal)
    }
  }
}

async function takeSnapshot({ dataDirectory, postgres }: Making, directory: string, target: string): Promise<void> {
  await rm(target, { force: true })
  if (postgres === null) {
    const path = join(dataDirectory, DATABASE)
    const { size } = await stat(path).catch(() => {
      throw new ScrapdeckError('BAD_INPUT', sentence('storage.no_store', { dataDirectory, database: DATABASE }))
    })
    await requireSpace(directory, size + SPARE_BYTES)
    return snapshotSqlite(path, target)
  }
  const silent = () => {}
  const logger = { debug: silent, info: silent, warn: silent, error: silent }
  copyStore({ from: { postgres, whileInUse: true }, to: { directory }, logger, restart: true, report: silent })
}

/** Requires enough free space, because a full disk would stop the engine too. */
async function requireSpace(directory: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  const freeBytes = bavail * bsize
  if (freeBytes >= bytes) return
  const text = sentence('storage.copy_needs_disk', { bytes, directory, freeBytes })
  throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', text)
}

export const nameOfRow = (row: FileOfRow): string =>
  row.kind === 'egg'
    ? `eggs/${row.sha256}`
    : archiveName(row.jobId, row.number, row.kind === 'items' ? 'items' : 'logs')

/**
 * Returns the file that a row names, if its size matches. It may not match: if a lost run reappears, its log replaces
 * the earlier log under the same name.
 */
function findHeld(held: HeldFiles, row: FileOfRow): HeldFile | null {
  const { sizeBytes } = row
  const sealed = held.find(`blobs/${nameOfRow(row)}${SEALED}`, (file) => {
    const plan = planFrames(file.sizeBytes)
    return sizeBytes === null || plan?.plainBytes === sizeBytes
  })
  return sealed ?? held.find(`blobs/${nameOfRow(row)}`, (file) => sizeBytes === null || file.sizeBytes === sizeBytes)
}

async function* filesOf(all: {
  making: Making
  holds: Holds
  database: string
  rows: readonly FileOfRow[]
  missing: string[]
}): AsyncGenerator<BackupFile> {
  const { making, holds, database, rows, missing } = all
  const { dataDirectory, blobs, withSecrets } = making
  const { leftOut } = holds.ofData
  yield fileAt(DATABASE, database, (await stat(database)).size)
  if (blobs.kind === 'files') {
    for (const row of rows) {
      const file = findHeld(holds.ofBlobs, row)
      if (file !== null) yield fileAt(file.name, file.path, file.sizeBytes)
    }
  } else if (blobs.kind === 'store') yield* filesOfStore(blobs.store, rows, missing)
  for (const folder of HELD_FOLDERS) for (const { name, path } of holds.ofData.in(folder)) yield* fileNow(name, path)
  for (const folder of OTHER_FOLDERS)
    for await (const name of filesBelow(join(dataDirectory, folder), (one) => leftOut.add(`${folder}/${one}`)))
      yield* ownFileNow(dataDirectory, `${folder}/${name}`, leftOut)
  for (const name of [...OTHER_FILES, ...(withSecrets ? SECRET_FILES : [])])
    yield* ownFileNow(dataDirectory, name, null)
}

async function* filesOfStore(
  store: Pick<BlobStore, 'list' | 'openRead'>,
  rows: readonly FileOfRow[],
  missing: string[]
): AsyncGenerator<BackupFile> {
  const there = new Map<string, number>()
  for (const folder of BLOB_FOLDERS)
    for (const { name, sizeBytes } of await store.list(`${folder}/`)) there.set(name, sizeBytes)
  for (const row of rows) {
    const name = [`${nameOfRow(row)}${SEALED}`, nameOfRow(row)].find((one) => there.has(one))
    const content = name === undefined ? null : await store.openRead(name).catch(nullIfGone)
    if (name === undefined || content === null) missing.push(nameOfRow(row))
    else yield { name: `blobs/${name}`, sizeBytes: there.get(name)!, content: () => content }
  }
}

/** Blobs in a store cannot be held, so retention can delete them during the backup. */
function nullIfGone(error: unknown): null {
  if (isScrapdeckError(error, 'NOT_FOUND')) return null
  throw error
}

async function* fileNow(name: string, path: string): AsyncGenerator<BackupFile> {
  const info = await stat(path).catch(() => null)
  if (info?.isFile() === true) yield fileAt(name, path, info.size)
}

async function* ownFileNow(
  dataDirectory: string,
  name: string,
  leftOut: Set<string> | null
): AsyncGenerator<BackupFile> {
  const file = await openOwnFile(dataDirectory, name).catch((error: unknown) => {
    if (leftOut === null || !isInTheWay(error)) throw error
    leftOut.add(name)
    return null
  })
  if (file === null) return
  try {
    const { size } = await file.stat()
    yield { name, sizeBytes: size, content: () => exactly(file, size) }
  } finally {
    await file.close()
  }
}

const fileAt = (name: string, path: string, sizeBytes: number): BackupFile => ({
  name,
  sizeBytes,
  content: () => exactlyAt(path, sizeBytes)
})

async function* exactlyAt(path: string, sizeBytes: number): AsyncGenerator<Uint8Array> {
  await using file = await open(path).catch(nullIfDeleted)
  yield* exactly(file, sizeBytes)
}

function nullIfDeleted(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** Yields exactly `sizeBytes`, which the archive has already recorded. Cuts off or pads a file that has changed. */
async function* exactly(file: FileHandle | null, sizeBytes: number): AsyncGenerator<Uint8Array> {
  let left = sizeBytes
  if (file !== null && sizeBytes > 0)
    for await (const piece of createReadStream('', { fd: file, autoClose: false, end: sizeBytes - 1, start: 0 })) {
      left -= (piece as Buffer).length
      yield piece as Buffer
    }
  for (; left > 0; left -= Math.min(left, ZEROS.length)) yield ZEROS.subarray(0, Math.min(left, ZEROS.length))
}

const ZEROS = new Uint8Array(65_536)

async function* untilAborted(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    signal.throwIfAborted()
    yield piece
  }
}
