/** Folders of the data directory that a backup contains, besides the blobs. The rest is recreated on startup. */
export const HELD_FOLDERS = ['local/logs', 'local/items', 'log-copies/spools', 'items-copies/spools'] as const

/** Folders with files that spiders keep from run to run. The database does not name these files. */
export const OTHER_FOLDERS = ['local/work'] as const

export const OTHER_FILES = ['local/users.json'] as const

/** Files that let anyone decrypt the secrets in the database, or impersonate Scrapdeck or its users. */
export const SECRET_FILES = [
  ...['secret.key', 'credentials.json'],
  ...['tls/ca-key.pem', 'tls/ca.pem', 'tls/server-key.pem', 'tls/server.pem']
] as const

export const BLOB_FOLDERS = ['eggs', 'logs', 'items'] as const

export const DATABASE = 'scrapdeck.sqlite'

const PATH_MAX_BYTES = 4_096

/**
 * Whether a backup may contain a file of this name. The name must be relative, be below a folder that backups contain,
 * and not lead outside that folder on any system.
 */
export function isKeptName(name: string): boolean {
  if ([DATABASE, ...OTHER_FILES, ...SECRET_FILES].includes(name)) return true
  if (Buffer.byteLength(name) > PATH_MAX_BYTES || /[\0\\]/.test(name)) return false
  if (name.split('/').some((part) => part === '' || part === '.' || part === '..')) return false
  if (/^blobs\/(eggs|logs|items)\/[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(name)) return true
  return [...HELD_FOLDERS, ...OTHER_FOLDERS].some((folder) => name.startsWith(`${folder}/`))
}
