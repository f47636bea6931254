import { ScrapdeckError } from '../../../../shared/errors.ts'

const PERMISSION =
  'permission denied. Give the user that runs Scrapdeck read and write permission there, on every machine.'
const AWAY = 'its file system does not respond or has failed. Check the mount and the file server.'

/** What an operator can do, by the system's name of the error. Others are not the directory's. */
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

/** null: the error says nothing about the directory. Pure. */
export function directoryError(error: unknown, path: string): ScrapdeckError | null {
  const { code = '' } = error as NodeJS.ErrnoException
  return Object.hasOwn(REMEDIES, code) ? directoryProblem(code, path, error) : null
}

export function directoryProblem(code: string, path: string, cause?: unknown): ScrapdeckError {
  const hint = REMEDIES[code] === AWAY ? `${code}: ${AWAY}` : REMEDIES[code]
  const text = `The blobs in ${path} cannot be used: ${hint}`
  return new ScrapdeckError('BLOBS_UNUSABLE', text, { data: { problem: code }, cause })
}

/** Visible without credentials: no names. Pure. */
export function describeFailure(problem: ScrapdeckError | null): string | null {
  if (problem === null) return null
  const { problem: code } = problem.data as { problem: string }
  const storage = 'The blob storage (shared directory)'
  if (code === 'ENOSPC' || code === 'EDQUOT') return `${storage} is full`
  if (code === 'NOT_MOUNTED') return `${storage} is not mounted`
  if (code === 'EROFS' || REMEDIES[code] === PERMISSION) return `${storage} cannot be written`
  return `${storage} does not respond or has failed`
}
