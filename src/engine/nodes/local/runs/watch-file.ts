import { type FSWatcher, watch } from 'node:fs'

/**
 * Calls back when a file is written to, as the system reports it. Nothing is reported where the file does not exist yet
 * or the file system has no events: callers also look by themselves.
 */
export function watchFile(path: string, onChange: () => void): () => void {
  let watcher: FSWatcher | null = null
  try {
    watcher = watch(path, { persistent: false }, onChange)
    watcher.on('error', () => watcher?.close())
  } catch {
    // It does not exist, or the system has no more watches.
  }
  return () => watcher?.close()
}
