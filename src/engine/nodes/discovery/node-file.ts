import { watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { openRegularFile } from '../../runtime/regular-file.ts'

const SIZE_MAX_BYTES = 4 * 1024 * 1024

const FAILURES: Record<string, string> = {
  ENOENT: 'there is no such file. Make it, or correct the path',
  ENOTDIR: 'there is no such file. Make it, or correct the path',
  EACCES: 'it may not be read. Give Scrapdeck the right to read it',
  EISDIR: 'it is a directory. Name a file in it'
}

/** The text of a file of nodes. Rejects with BAD_INPUT, in words, where it cannot be read or is being written. */
export async function readNodeFile(path: string): Promise<string> {
  try {
    const file = await openRegularFile(path)
    if (file === null) throw problem(path, 'it is no regular file. Name one')
    try {
      const before = await file.stat()
      if (before.size > SIZE_MAX_BYTES) throw problem(path, `it is larger than ${SIZE_MAX_BYTES / 1024 / 1024} MB`)
      const bytes = await file.readFile()
      const after = await file.stat()
      // Half a file would name half the nodes. Whoever replaces it whole (rename) is never seen half-way.
      if (after.mtimeMs !== before.mtimeMs || after.size !== bytes.length) throw problem(path, 'it is being written')
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof ScrapdeckError) throw error
    if (error instanceof TypeError) throw problem(path, 'it is not UTF-8 text. Save it as such', error)
    const code = (error as NodeJS.ErrnoException).code ?? ''
    throw problem(path, FAILURES[code] ?? `it cannot be read (${code || String(error)})`, error)
  }
}

/** Changes when the file does: its time, size and identity. null: there is none. */
export async function fileStamp(path: string): Promise<string | null> {
  try {
    const { mtimeMs, size, ino } = await stat(path)
    return `${mtimeMs} ${size} ${ino}`
  } catch {
    // Reading it says why, in words.
    return null
  }
}

/**
 * Calls `onChange` when something in the file's directory changes: what replaces a file, or the link that leads to it (Kubernetes'
 * ConfigMaps), is seen only there. A hint; null where this cannot be watched. Times of the file are looked at besides.
 */
export function watchNodeFile(path: string, onChange: () => void): { close(): void } | null {
  try {
    const watcher = watch(dirname(path), { persistent: false }, onChange)
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    // No such directory, or a file system that tells nothing.
    return null
  }
}

function problem(path: string, why: string, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('BAD_INPUT', `${path}: ${why}.`, { cause })
}
