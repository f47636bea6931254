import { constants } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'

export const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const FILE_MAX_BYTES = 64 * 1_024
/** Opens a file without following a link, and without waiting for the writer of a pipe. Windows has neither flag. */
const READ_AT_ONCE = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

export interface CredentialFilesOptions {
  /** Files in and below these directories are allowed. The directory of the service account is always included. */
  directories: readonly string[]
  /** Scrapdeck's own files and directories. Never allowed, even below `directories`. */
  never: readonly string[]
}

/**
 * Files with cluster credentials. A fleet admin names them, and we send their content to an address that the same
 * admin chooses. Therefore we accept only files that the operator of this machine has set apart for this purpose.
 */
export class CredentialFiles {
  readonly #directories: readonly string[]
  readonly #never: readonly string[]

  constructor({ directories, never }: CredentialFilesOptions) {
    this.#directories = [SERVICE_ACCOUNT, ...directories.map((directory) => resolve(directory))]
    this.#never = never.map((path) => resolve(path))
  }

  /** Accepts a missing file, because it may be created later. Rejects with CREDENTIAL_FILE_NOT_ALLOWED. */
  async check(path: string): Promise<void> {
    const real = await this.#realPath(path).catch(absent)
    if (real !== null) requireFile(path, await stat(real))
  }

  /** Rejects with CREDENTIAL_FILE_NOT_ALLOWED or a file system error. Errors never contain the file's content. */
  async read(path: string): Promise<string> {
    const real = await this.#realPath(path)
    await using file = await open(real, READ_AT_ONCE)
    requireFile(path, await file.stat())
    const buffer = Buffer.alloc(FILE_MAX_BYTES + 1)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    requireFile(path, { isFile: () => true, size: bytesRead })
    const text = buffer.toString('utf8', 0, bytesRead).trim()
    if (text === '') throw new Error('it is empty')
    return text
  }

  /** Checks the target of a link, because Kubernetes projects tokens as links inside their directory. */
  async #realPath(path: string): Promise<string> {
    const directories = [...this.#directories, ...(await realPaths(this.#directories))]
    // Paths outside these directories are not even resolved, because the result would reveal which files exist.
    if (!directories.some((directory) => isBelow(directory, resolve(path)))) throw this.#elsewhere(path)
    const real = await realpath(path)
    const never = [...this.#never, ...(await realPaths(this.#never))]
    const isOwn = never.some((own) => own === real || isBelow(own, real))
    if (isOwn || !directories.some((directory) => isBelow(directory, real))) throw this.#elsewhere(path)
    return real
  }

  #elsewhere(path: string): ScrapdeckError {
    return refused(
      path,
      `is not in a directory for credentials of clusters (${this.#directories.join(', ')}), or leads out of it. Name its directory in the option cluster_credential_directories on the machine of Scrapdeck, or enter the token itself`
    )
  }
}

/** Omits missing paths, because the directory of a token may be mounted later. */
async function realPaths(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => realpath(path).catch(() => null)))
  return found.filter((path) => path !== null)
}

function isBelow(directory: string, path: string): boolean {
  const way = relative(directory, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function requireFile(path: string, found: { isFile(): boolean; size: number }): void {
  if (found.size > FILE_MAX_BYTES) throw refused(path, `is larger than ${FILE_MAX_BYTES / 1_024} KiB`)
  if (!found.isFile()) throw refused(path, 'is no regular file')
}

const refused = (path: string, why: string): ScrapdeckError =>
  new ScrapdeckError('CREDENTIAL_FILE_NOT_ALLOWED', sentence('nodes.credential_file_not_allowed', { path, why }))

function absent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
  throw error
}
