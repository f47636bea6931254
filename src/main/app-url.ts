import { extname, join, relative, resolve, sep } from 'node:path'

export const APP_SCHEME = 'scrapdeck-app'

/** Origin of the UI. A file:// page could read the disk; this origin can read out/renderer and nothing else. */
export const APP_URL = `${APP_SCHEME}://app/`

/** Whether this is one of our documents: the exact scheme and host, no user, no port. */
export function isAppUrl(url: string): boolean {
  return url.startsWith(APP_URL)
}

/** The file of one of our URLs; null if it would be outside the directory. A path without an extension is a view. */
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
    // Broken percent-encoding: none of our files.
    return null
  }
}
