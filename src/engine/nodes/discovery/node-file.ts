import { watch } from 'node:fs'
import { dirname } from 'node:path'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { openRegularFile } from '../../runtime/regular-file.ts'

const SIZE_MAX_BYTES = 4 * 1024 * 1024
const AT_REST_MS = 1_000
const LOOKS_MAX = 10

const FAILURES: Record<string, 'nodes.file_missing' | 'nodes.file_forbidden' | 'nodes.file_is_directory'> = {
  ENOENT: 'nodes.file_missing',
  ENOTDIR: 'nodes.file_missing',
  EACCES: 'nodes.file_forbidden',
  EISDIR: 'nodes.file_is_directory'
}

/**
 * Reads the file once it has not changed for a second, because a half-written file lists only some of the nodes.
 * Rejects with BAD_INPUT.
 */
export async function readNodeFile(path: string, clock: Clock): Promise<string> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const text = await readAtRest(path, clock)
    if (text !== null) return text
    await sleep(clock, AT_REST_MS)
  }
  throw refused(sentence('nodes.file_keeps_changing', { path }))
}

/** null: the file was written less than a second ago, or changed during the read. */
async function readAtRest(path: string, clock: Clock): Promise<string | null> {
  try {
    await using file = await openRegularFile(path)
    if (file === null) throw refused(sentence('nodes.file_not_regular', { path }))
    const before = await file.stat()
    if (before.size > SIZE_MAX_BYTES)
      throw refused(sentence('nodes.file_too_large', { path, megabytes: SIZE_MAX_BYTES / 1024 / 1024 }))
    // A modification time far in the future comes from another machine's clock and proves nothing.
    if (Math.abs(clock.nowMs() - before.mtimeMs) < AT_REST_MS) return null
    const bytes = await file.readFile()
    const after = await file.stat()
    if (after.mtimeMs !== before.mtimeMs || after.size !== bytes.length) return null
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    if (error instanceof ScrapdeckError) throw error
    if (error instanceof TypeError) throw refused(sentence('nodes.file_is_no_text', { path }), error)
    const code = (error as NodeJS.ErrnoException).code ?? ''
    const known = FAILURES[code]
    const why = code || String(error)
    throw refused(known ? sentence(known, { path }) : sentence('nodes.file_unreadable', { path, why }), error)
  }
}

/**
 * Watches the directory of the file, because a watch on the file would miss its replacement (Kubernetes
 * ConfigMaps). Best effort. null: the directory cannot be watched, so only the refresh interval reveals changes.
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

const refused = (text: Sentence, cause?: unknown) => new ScrapdeckError('BAD_INPUT', text, { cause })
