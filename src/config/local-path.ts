import { resolve as resolvePath } from 'node:path'
import { fileURLToPath } from 'node:url'

/** `items_dir` can be a URL of a storage elsewhere; `file:` URLs are converted to paths, as in Scrapyd. */
export function localPath(text: string, workingDirectory: string, mayBeUrl: boolean): string {
  if (mayBeUrl && /^file:\/\//i.test(text)) return fileURLToPath(text)
  return mayBeUrl && isUrl(text) ? text : resolvePath(workingDirectory, text)
}

/** A single letter is a Windows drive, not a scheme. */
export function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/i.test(text)
}
