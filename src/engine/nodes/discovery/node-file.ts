import { watch } from 'node:fs'
import { dirname } from 'node:path'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { openRegularFile } from '../../runtime/regular-file.ts'

const SIZE_MAX_BYTES = 4 * 1024 * 1024
const AT_REST_MS = 1_000
const LOOKS_MAX = 10

const FAILURES: Record<string, string> = {
  ENOENT: 'there is no such file. Create it, or correct the path',
  ENOTDIR: 'there is no such file. Create it, or correct the path',
  EACCES: 'permission denied. Give Scrapdeck permission to read it',
  EISDIR: 'it is a directory. Specify a file in it'
}

/** Waits until the file is unchanged for a second, because half a file names half the nodes. Rejects with BAD_INPUT. */
export async function readNodeFile(path: string, clock: Clock): Promise<string> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const text = await readAtRest(path, clock)
    if (text !== null) return text
    await sleep(clock, AT_REST_MS)
  }
  throw problem(path, 'it keeps changing while it is read. Write a temporary file and rename it to this name')
}

/** null: the file was written less than a second ago, or changed during the read. */
async function readAtRest(path: string, clock: Clock): Promise<string | null> {
  try {
    await using file = await openRegularFile(path)
    if (file === null) throw problem(path, 'it is not a regular file. Specify one')
    const before = await file.stat()
    if (before.size > SIZE_MAX_BYTES) throw problem(path, `it is larger than ${SIZE_MAX_BYTES / 1024 / 1024} MB`)
    // A time far ahead of our clock comes from another machine and proves nothing.
    if (Math.abs(clock.nowMs() - before.mtimeMs) < AT_REST_MS) return null
    const bytes = await file.readFile()
    const after = await file.stat()
    if (after.mtimeMs !== before.mtimeMs || after.size !== bytes.length) return null
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    if (error instanceof ScrapdeckError) throw error
    if (error instanceof TypeError) throw problem(path, 'it is not UTF-8 text. Save it as UTF-8', error)
    const code = (error as NodeJS.ErrnoException).code ?? ''
    throw problem(path, FAILURES[code] ?? `it cannot be read (${code || String(error)})`, error)
  }
}

/**
 * Watches the directory of the file, because a watch on the file would miss its replacement (Kubernetes
 * ConfigMaps). Best effort. null: it cannot be watched, so only the refresh interval reveals changes.
 */
export function watchNodeFile(path: string, onChange: () => void): { close(): void } | null {
  try {
    const watcher = watch(dirname(path), { persistent: false }, onChange)
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return null
  }
}

function problem(path: string, why: string, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('BAD_INPUT', `${path}: ${why}.`, { cause })
}
