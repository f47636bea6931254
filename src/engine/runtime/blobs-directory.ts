import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const isFileUrl = (text: string): boolean => /^file:/i.test(text.trim())

/** Parses `/mnt/share/scrapdeck` or `file:///mnt/share/scrapdeck`. Returns null for anything else. */
export function parseBlobsDirectory(text: string): string | null {
  const given = text.trim()
  if (isAbsolute(given)) return resolve(given)
  const url = isFileUrl(given) ? URL.parse(given) : null
  if (url === null || url.host !== '' || url.search !== '' || url.hash !== '') return null
  try {
    return resolve(fileURLToPath(url))
  } catch {
    return null
  }
}
