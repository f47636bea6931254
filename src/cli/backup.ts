import { createReadStream, existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { draftBeside } from '../engine/runtime/left-by-killed.ts'
import { type BackupProgress, type MadeBackup, makeBackup } from '../engine/maintenance/backup/make-backup.ts'
import { openBackupSource } from '../engine/maintenance/backup/open-source.ts'
import { type CheckedBackup, restoreBackup, verifyBackup } from '../engine/maintenance/backup/read-backup.ts'
import { systemClock } from '../engine/runtime/clock.ts'
import { type EncryptionOptions, openEncryptionKeys } from '../engine/runtime/encryption-keys.ts'
import type { ServeOptions } from '../config/serve-options.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'
import { formatBytes } from '../shared/format-bytes.ts'
import { showUnseen } from '../shared/unseen.ts'
import { readPackageVersion } from './package-paths.ts'

export interface BackupFlags {
  verify?: boolean
  notEncrypted?: boolean
  withSecrets?: boolean
  withBlobs?: boolean
}

export interface RestoreFlags {
  keyFile?: string
  paused?: boolean
}

type Options = Pick<ServeOptions, 'dataDirectory' | 'postgres' | 's3' | 'blobsDirectory' | 'encryption' | 'directories'>

interface Progress {
  print: (line: string) => void
  signal: AbortSignal
}

const STANDARD = '-'
const REPORTED_EVERY_MS = 2_000

/** `scrapdeck backup FILE|-`. Throws BAD_INPUT, BACKUP_FAILED or what makeBackup throws, and then leaves no file. */
export async function runBackup(
  file: string,
  { notEncrypted = false, withSecrets = false, withBlobs = false }: BackupFlags,
  options: Options,
  { print, signal }: Progress
): Promise<{ made: MadeBackup; keyId: string | null }> {
  const keys = notEncrypted ? null : await openEncryptionKeys(options.encryption)
  if (keys !== null && keys.newest === null)
    throw new ScrapdeckError('BAD_INPUT', sentence('cli.no_encryption_key_configured'))
  if (file === STANDARD && process.stdout.isTTY)
    throw new ScrapdeckError('BAD_INPUT', sentence('cli.backup_not_terminal'))
  await using opened = new AsyncDisposableStack()
  const source = await openBackupSource({ ...options, withBlobs, environment: process.env }, opened)
  const made = await makeBackup({
    ...source,
    scrapdeckVersion: readPackageVersion(),
    keys,
    withSecrets,
    clock: systemClock,
    signal,
    report: seldom(print, textOf),
    write: (bytes) => (file === STANDARD ? writeStandard(bytes) : writeFile(resolve(file), bytes))
  })
  return { made, keyId: keys?.newest?.id ?? null }
}

export function describeBackup(
  file: string,
  { made, keyId }: { made: MadeBackup; keyId: string | null },
  { directories }: Pick<Options, 'directories'>
): string {
  const { head, files, bytes, missing, leftOut } = made
  const how = keyId === null ? 'NOT encrypted: anyone with the file can read it' : `encrypted with the key ${keyId}`
  const elsewhere = Object.values(directories).filter((path) => typeof path === 'string')
  return [
    `${file === STANDARD ? 'The backup' : file} has ${files} files (${formatBytes(bytes)}) and is ${how}.`,
    ...(head.hasSecrets
      ? ['It has secret.key and the password of the service.']
      : [
          'It has neither secret.key nor the password of the service: keep a copy of secret.key, or passwords of nodes and secret values must be entered again. --with-secrets adds them.'
        ]),
    ...(head.blobsAt === null
      ? []
      : [`Eggs, archived logs and kept items are at ${head.blobsAt}, and not in it. --with-blobs adds them.`]),
    ...(elsewhere.length === 0
      ? []
      : [`Not in it, because they are in directories of your own: ${elsewhere.join(', ')}.`]),
    ...(missing.length === 0 ? [] : [`${missing.length} files that the database names are missing: ${few(missing)}.`]),
    ...(leftOut.length === 0
      ? []
      : [
          `${leftOut.length} files or folders that spiders wrote are not in it, as they cannot be read or named: ${few(leftOut)}.`
        ]),
    ''
  ].join('\n')
}

export async function runVerify(file: string, options: Options, { print }: Progress): Promise<CheckedBackup> {
  const keys = await openEncryptionKeys(options.encryption)
  return verifyBackup({ source: openSource(file), keys, report: counted(print) })
}

export async function runRestore(
  file: string,
  { keyFile, paused = false }: RestoreFlags,
  { dataDirectory, encryption }: { dataDirectory: string; encryption: EncryptionOptions | null },
  { print }: Progress
): Promise<CheckedBackup> {
  const keys = await openEncryptionKeys(keyFile === undefined ? encryption : { keyFile, keyCommand: null })
  const given = { source: openSource(file), keys, report: counted(print) }
  return restoreBackup({ ...given, directory: dataDirectory, isPaused: paused })
}

export function describeVerified({ head, contents, isSealed }: CheckedBackup): string {
  const { scrapdeckVersion, hostname, madeAtMs } = head
  return [
    `The backup is intact: ${contents.files} files (${formatBytes(contents.bytes)}), ${isSealed ? 'encrypted' : 'NOT encrypted'}.`,
    `Made ${new Date(madeAtMs).toISOString()} by Scrapdeck ${scrapdeckVersion} on ${hostname}.`,
    ...notesOn(head, contents),
    ''
  ].join('\n')
}

export function describeRestored(directory: string, isPaused: boolean, { head, contents }: CheckedBackup): string {
  return [
    `${directory} is restored and checked: ${contents.files} files (${formatBytes(contents.bytes)}), as of ${new Date(head.madeAtMs).toISOString()}.`,
    ...notesOn(head, contents),
    ...(head.hasSecrets
      ? []
      : [
          `Before the first start, copy secret.key of the old installation to ${directory}. Without it, enter passwords of nodes and secret values again. The first start makes a new password of the service.`
        ]),
    ...(head.database === 'postgres'
      ? [`It is a store on SQLite now. To PostgreSQL: scrapdeck copy-store ${directory} postgres://…`]
      : []),
    isPaused
      ? 'Dispatch is paused: resume it when the old installation is stopped for good.'
      : 'Jobs that were queued then will run when it starts. With --paused, dispatch waits until you resume it.',
    ''
  ].join('\n')
}

function notesOn({ blobsAt }: CheckedBackup['head'], { missing, missingCount }: CheckedBackup['contents']): string[] {
  return [
    ...(blobsAt === null ? [] : [`Eggs, archived logs and kept items are not in it: they are at ${blobsAt}.`]),
    ...(missingCount === 0 ? [] : [`${missingCount} files were already missing when it was made: ${few(missing)}.`])
  ]
}

const few = (names: readonly string[]): string =>
  names
    .slice(0, 3)
    .map((name) => showUnseen(name.slice(0, 200)))
    .join(', ') + (names.length > 3 ? ', …' : '')

function openSource(file: string) {
  if (file !== STANDARD && !existsSync(file)) throw new ScrapdeckError('BAD_INPUT', sentence('cli.no_file', { file }))
  return file === STANDARD ? process.stdin : createReadStream(file, { highWaterMark: 262_144 })
}

/** Writes to a temporary file and renames it once all bytes are on the disk. */
async function writeFile(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  if (existsSync(path)) throw new ScrapdeckError('BAD_INPUT', sentence('cli.file_exists', { path }))
  const draft = await draftBeside(path)
  try {
    {
      await using file = await open(draft, 'wx', 0o600)
      for await (const piece of bytes) await file.writeFile(piece)
      await file.sync()
    }
    await rename(draft, path)
    if (process.platform === 'win32') return
    await using folder = await open(dirname(path))
    await folder.sync()
  } catch (error) {
    throw explain(error, path, dirname(path))
  } finally {
    await rm(draft, { force: true })
  }
}

async function writeStandard(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const { stdout } = process
  // Ignore further errors if the reader closed the pipe early.
  stdout.removeAllListeners('error').on('error', () => {})
  for await (const piece of bytes)
    await new Promise<void>((done, fail) => {
      stdout.write(piece, (error) => (error ? fail(explain(error, 'standard output', '')) : done()))
    })
}

/** Explains write errors. The engine has already explained read errors. */
function explain(error: unknown, what: string, folder: string): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException
  if (error instanceof ScrapdeckError || !['write', 'open', 'fsync', 'rename'].includes(syscall ?? '')) return error
  const problem = PROBLEMS[code]?.replace('DIR', folder)
  if (problem === undefined) return error
  const text = sentence('cli.backup_not_written', { what, problem })
  return new ScrapdeckError('BACKUP_FAILED', text, { cause: error })
}

const PROBLEMS: Record<string, string> = {
  ENOSPC: 'the disk is full. Free some space, or name a file on another disk',
  EDQUOT: 'the disk quota is used up. Free some space, or name a file on another disk',
  EFBIG: 'the file would be larger than its file system allows',
  ENOENT: 'there is no directory DIR. Make it, or name a file elsewhere',
  ENOTDIR: 'DIR is not a directory',
  EACCES: 'permission denied in DIR',
  EPERM: 'permission denied in DIR',
  EROFS: 'the file system is read-only',
  EPIPE: 'the program that reads it has ended'
}

function textOf({ step, files, bytes }: BackupProgress): string {
  if (step === 'holding') return 'looking for files'
  if (step === 'database') return 'copying the database'
  return `${files} files, ${formatBytes(bytes)}`
}

function seldom<T extends { step: string }>(print: (line: string) => void, text: (one: T) => string) {
  let [printedAtMs, step] = [-Infinity, '']
  return (one: T) => {
    if (one.step === step && performance.now() - printedAtMs < REPORTED_EVERY_MS) return
    ;[printedAtMs, step] = [performance.now(), one.step]
    print(text(one))
  }
}

function counted(print: (line: string) => void) {
  const report = seldom(
    print,
    (one: { step: string; files: number; bytes: number }) => `${one.files} files, ${formatBytes(one.bytes)}`
  )
  return (files: number, bytes: number) => report({ step: 'files', files, bytes })
}
