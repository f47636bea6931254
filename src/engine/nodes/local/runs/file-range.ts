import { relative } from 'node:path'
import type { LogRange } from '../../node-client.ts'
import { openOwnFile, openRegularFile } from '../../../runtime/regular-file.ts'
import { type FSWatcher, watch } from 'node:fs'

/** Reads a range like NodeClient.readLog. Does not follow links below `root`, where spiders can create them. */
export async function readFileRange(
  path: string,
  range: { offset: number; limitBytes: number },
  root: string | null = null
): Promise<LogRange | null> {
  await using file = await (root === null ? openRegularFile(path) : openOwnFile(root, relative(root, path))).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    }
  )
  if (file === null) return null
  const { size: sizeBytes, dev, ino } = await file.stat()
  const offset = range.offset < 0 ? Math.max(0, sizeBytes + range.offset) : range.offset
  const bytes = new Uint8Array(Math.max(0, Math.min(range.limitBytes, sizeBytes - offset)))
  const { bytesRead } = await file.read(bytes, 0, bytes.byteLength, offset)
  return { offset, sizeBytes, bytes: bytes.subarray(0, bytesRead), fileId: `${dev} ${ino}` }
}

/** Callers must also poll, because some file systems report no changes and a missing file cannot be watched. */
export function watchFile(path: string, onChange: () => void): () => void {
  let watcher: FSWatcher | null = null
  try {
    watcher = watch(path, { persistent: false }, onChange)
    watcher.on('error', () => watcher?.close())
  } catch {
    // For example, the file does not exist, or the system has no more watches.
  }
  return () => watcher?.close()
}
