import { copyFileSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * The dry crawl of the parent of warm spiders (warm.py) takes nearly a second of CPU per new data directory, so its
 * result is copied from one test to the next.
 */
const KEPT = resolve(import.meta.dirname, '../../../.cache/learned')

/** Call this before opening a local node in this directory. */
export function lendLearnedModules(localDirectory: string): void {
  copyAll(KEPT, join(localDirectory, 'warm'))
}

/** Call this when a local node closes, before or after. */
export function keepLearnedModules(localDirectory: string): void {
  copyAll(join(localDirectory, 'warm'), KEPT)
}

function copyAll(from: string, to: string): void {
  const names = listed(from).filter((name) => name.endsWith('.json'))
  if (names.length === 0) return
  mkdirSync(to, { recursive: true, mode: 0o700 })
  for (const name of names) {
    const copy = join(to, `${name}.${process.pid}`)
    copyFileSync(join(from, name), copy)
    renameSync(copy, join(to, name))
  }
}

function listed(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
