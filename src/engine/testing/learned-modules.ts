import { copyFileSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * What the parent of warm spiders learns by a dry crawl when it first uses a Python (warm.py): nearly a second of CPU
 * per new data directory. Tests pass it on to later ones; warm.py itself checks whether it is still valid.
 */
const KEPT = resolve(import.meta.dirname, '../../../.cache/learned')

/** Call before a local node is opened in this directory. */
export function lendLearnedModules(localDirectory: string): void {
  copyAll(KEPT, join(localDirectory, 'warm'))
}

/** Call once a local node has been closed, or is about to be. */
export function keepLearnedModules(localDirectory: string): void {
  copyAll(join(localDirectory, 'warm'), KEPT)
}

function copyAll(from: string, to: string): void {
  const names = listed(from).filter((name) => name.endsWith('.json'))
  if (names.length === 0) return
  mkdirSync(to, { recursive: true, mode: 0o700 })
  for (const name of names) {
    // Atomic, because other tests copy at the same time.
    const copy = join(to, `${name}.${process.pid}`)
    copyFileSync(join(from, name), copy)
    renameSync(copy, join(to, name))
  }
}

function listed(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    // Nothing was learned there.
    return []
  }
}
