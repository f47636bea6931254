import { copyFileSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * The parent of warm spiders learns modules by a dry crawl when it first uses a Python (warm.py), which takes nearly a
 * second of CPU per new data directory. Tests copy the result to later tests. warm.py checks whether it is still
 * valid.
 */
const KEPT = resolve(import.meta.dirname, '../../../.cache/learned')

/** Call this before opening a local node in this directory. */
export function lendLearnedModules(localDirectory: string): void {
  copyAll(KEPT, join(localDirectory, 'warm'))
}

/** Call this after closing a local node, or right before. */
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
