import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ScrapdeckError } from '../../shared/errors.ts'
import { findOwner, isForeign, isOwn, othersMayRead } from './file-trust.ts'

const FOR_OWNER_ONLY = 0o700
/** What Scrapdeck keeps in its data directory; nothing else there is ours to change. */
const OURS =
  /^(scrapdeck\.sqlite(-wal|-shm)?|engine\.lock(-journal)?|(credentials|sessions|service)\.json|secret\.key|blobs|incoming|log-cache|local|health-probe)$/

/**
 * Creates a directory and what is missing above it, private to this user. Unlike mkdir's own `recursive`, it ends where
 * a file system refuses new entries (/proc): Node repeats that refusal for ever. Throws as mkdir does.
 */
export function makePrivateDirectory(path: string): void {
  const missing: string[] = []
  for (let place = path; statSync(place, { throwIfNoEntry: false }) === undefined; place = dirname(place)) {
    missing.push(place)
  }
  for (const place of missing.reverse()) {
    try {
      mkdirSync(place, FOR_OWNER_ONLY)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') throw new Error(`${dirname(place)} takes no new directories`, { cause: error })
      // Another process was first.
      if (code !== 'EEXIST') throw error
    }
  }
  if (!statSync(path).isDirectory()) throw new Error(`${path} is not a directory`)
}

/**
 * Creates the data directory, or takes one that is this user's (or root's, such as a mounted volume), and closes what
 * Scrapdeck keeps in it to others; the directory itself too, unless other things are in it. Throws
 * DATA_DIRECTORY_UNUSABLE with the reason.
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
    const names = readdirSync(path)
    if (names.every((name) => OURS.test(name))) close(path)
    for (const name of names.filter((one) => OURS.test(one))) close(join(path, name))
  } catch (error) {
    throw new ScrapdeckError(
      'DATA_DIRECTORY_UNUSABLE',
      `The data directory ${path} cannot be used: ${(error as Error).message}. Or choose another with --data.`,
      { cause: error }
    )
  }
}

function close(path: string): void {
  const info = lstatSync(path)
  if (!info.isSymbolicLink() && isOwn(info) && othersMayRead(info)) chmodSync(path, info.mode & FOR_OWNER_ONLY)
}
