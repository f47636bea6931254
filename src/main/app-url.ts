import { extname, join, relative, resolve, sep } from 'node:path'

export const APP_SCHEME = 'scrapdeck-app'

/** Where the UI lives. A file:// page could read the disk; this origin can read out/renderer and nothing else. */
export const APP_URL = `${APP_SCHEME}://app/`

/** True for a document of ours: the exact scheme and host, no user, no port. */
export function isAppUrl(url: string): boolean {
  return url.startsWith(APP_URL)
}

/** The file that a URL of ours names; null where it would leave the directory. A path without extension is a view. */
export function findAppFile(rendererDirectory: string, url: string): string | null {
  if (!isAppUrl(url)) return null
  const path = decodePath(new URL(url).pathname)
  if (path === null || path.includes('\0') || path.includes('\\')) return null
  const file = resolve(rendererDirectory, `.${path}`)
  const inside = relative(rendererDirectory, file)
  if (inside === '..' || inside.startsWith(`..${sep}`)) return null
  return extname(file) === '' ? join(rendererDirectory, 'index.html') : file
}

function decodePath(pathname: string): string | null {
  try {
    return decodeURIComponent(pathname)
  } catch {
    // Broken percent-encoding names no file of ours.
    return null
  }
}
