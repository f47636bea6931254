import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'
import { findDistrust, findOwner, findWriters, isForeign, isOwn, othersMayReach, othersMayRead } from './file-trust.ts'

const FOR_OWNER_ONLY = 0o700
/** The names of Scrapdeck's files in its data directory. Scrapdeck must not change any other files. */
const OURS =
  /^(scrapdeck\.sqlite(\.copying)?(-wal|-shm)?|engine\.lock(-journal)?|(credentials|sessions|service)\.json(\.new)?|secret\.key|blobs|blob-cache|incoming|log-cache|log-copies|log-index|items-cache|local|health-probe|tls|items-copies|backup-[A-Za-z0-9_-]+)$/
const OF_LOCAL_NODE = /^(runs|work|eggs|egg-files|logs|items|environments|warm)$/

/** Unlike mkdir's `recursive`, stops if a file system refuses new entries (/proc). Node would retry forever. */
export function makePrivateDirectory(path: string): void {
  makeDirectory(path, () => FOR_OWNER_ONLY)
}

/** Uses the mode of the nearest existing parent, so a directory inside a private one is private, too. */
export function makeDirectoryLikeAbove(path: string): void {
  makeDirectory(path, ({ mode }) => mode & 0o777)
}

function makeDirectory(path: string, modeIn: (above: Stats) => number): void {
  const missing: string[] = []
  let place = path
  let above: Stats | undefined
  while ((above = statSync(place, { throwIfNoEntry: false })) === undefined) {
    missing.push(place)
    place = dirname(place)
  }
  const mode = modeIn(above)
  for (const place of missing.reverse()) {
    try {
      mkdirSync(place, mode)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') throw new Error(`${dirname(place)} takes no new directories`, { cause: error })
      if (code !== 'EEXIST') throw error
    }
  }
  if (!statSync(path).isDirectory()) throw new Error(`${path} is not a directory`)
}

/**
 * Creates the data directory, or opens one that belongs to this user (or to root, such as a mounted volume). Makes
 * Scrapdeck's files in it private, and the directory itself unless it has other files. Refuses files that others own
 * or could have changed, because they could choose the password, or the code that runs. Throws
 * DATA_DIRECTORY_UNUSABLE.
 */
export function openDataDirectory(path: string): void {
  try {
    makePrivateDirectory(path)
    const info = statSync(path)
    if (isForeign(info)) {
      throw new Error(
        `it belongs to another user (${findOwner(info)}), who could read and change everything in it. Run Scrapdeck as that user, or give it to yours with chown -R`
      )
    }
    const writers = findWriters(info)
    if (readdirSync(path).every((name) => OURS.test(name))) close(path, info)
    else if (writers !== null && isOwn(info)) {
      throw new Error(`it can be written by ${writers}, and contains other things. Close it: chmod go-w ${path}`)
    }
    takeOver(path, OURS, othersMayReach(info))
  } catch (error) {
    throw new ScrapdeckError(
      'DATA_DIRECTORY_UNUSABLE',
      sentence('storage.data_directory_unusable', { path, error: (error as Error).message }),
      { cause: error }
    )
  }
}

/**
 * Makes the entries with these names private, including those in `local`. `isReachable`: whether others had access to
 * the directory.
 */
function takeOver(directory: string, names: RegExp, isReachable: boolean): void {
  for (const name of readdirSync(directory).filter((one) => names.test(one))) {
    const path = join(directory, name)
    const isLink = isTrustedLink(path)
    const info = statSync(path, { throwIfNoEntry: false })
    // The link is broken, or the Scrapdeck that uses the directory removed the file in the meantime.
    if (info === undefined) continue
    const writers = findWriters(info)
    // If no other user could reach the file, its mode has had no effect.
    if (isReachable && writers !== null) {
      throw new Error(
        `${path} can be written by ${writers}, who may have changed it. If you know its content, close it with chmod go-w ${path}; otherwise delete it`
      )
    }
    if (name === 'local' && info.isDirectory()) {
      takeOver(path, OF_LOCAL_NODE, (isReachable || isLink) && othersMayReach(info))
    }
    close(path, info)
  }
}

function isTrustedLink(path: string): boolean {
  const info = lstatSync(path, { throwIfNoEntry: false })
  if (info === undefined) return false
  if (isForeign(info)) {
    throw new Error(
      `${path} belongs to another user (${findOwner(info)}). If you know its content, give it to yours with chown -R; otherwise delete it`
    )
  }
  if (!info.isSymbolicLink()) return false
  const distrust = findDistrust(path)
  if (distrust === null) return true
  throw new Error(
    `${path} leads to ${distrust.path}, which ${distrust.reason}. If you know its content: ${distrust.remedy}; otherwise remove the link`
  )
}

function close(path: string, info: Stats): void {
  if (isOwn(info) && othersMayRead(info)) chmodSync(path, info.mode & FOR_OWNER_ONLY)
}
