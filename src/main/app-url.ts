import { extname, join, relative, resolve, sep } from 'node:path'
import { JobId } from '../shared/contract/index.ts'

export const APP_SCHEME = 'scrapdeck-app'

/** The origin of the UI. A file:// page could read the disk, but this origin can read only out/renderer. */
export const APP_URL = `${APP_SCHEME}://app/`

/** Whether this is one of our documents: the exact scheme and host, without a user or port. */
export function isAppUrl(url: string): boolean {
  return url.startsWith(APP_URL)
}

/** The file for one of our URLs, or null if it is outside the directory. A path without an extension is a view. */
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
    return null
  }
}

/** The UI address of an engine's alerts, or of one alert. `engineId` is null for the app's own engine. */
export const viewOfAlerts = (engineId: string | null, alertId?: string): string =>
  `${engineId === null ? '' : `?engine=${engineId}`}#/alerts${alertId === undefined ? '' : `?alert=${encodeURIComponent(alertId)}`}`

export const DEEP_LINK_SCHEME = 'scrapdeck'

/** The job id in a `scrapdeck://job/ID` link, or null for anything else. Links never change anything. */
export function jobIdOfDeepLink(link: string): JobId | null {
  const match = /^scrapdeck:\/\/job\/([^/?#]+)\/?$/.exec(link)
  return JobId.safeParse(match?.[1]).data ?? null
}

/** The first deep link in the arguments of a process. Windows and Linux pass links this way. */
export function findDeepLink(argv: readonly string[]): string | null {
  return argv.find((argument) => argument.startsWith(`${DEEP_LINK_SCHEME}://`)) ?? null
}
