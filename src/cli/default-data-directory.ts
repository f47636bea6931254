import { posix, win32 } from 'node:path'

/** Where Scrapdeck keeps its data by default: each system's usual place. Only this file knows it. */
export function defaultDataDirectory(machine: {
  platform: NodeJS.Platform
  environment: Record<string, string | undefined>
  homeDirectory: string
}): string {
  const { platform, environment, homeDirectory } = machine
  if (platform === 'win32') {
    return win32.join(environment.APPDATA || win32.join(homeDirectory, 'AppData', 'Roaming'), 'Scrapdeck')
  }
  if (platform === 'darwin') return posix.join(homeDirectory, 'Library', 'Application Support', 'Scrapdeck')
  // XDG specification: a relative path is invalid and must be ignored.
  const xdg = environment.XDG_DATA_HOME ?? ''
  return posix.join(posix.isAbsolute(xdg) ? xdg : posix.join(homeDirectory, '.local', 'share'), 'scrapdeck')
}
