import { posix, win32 } from 'node:path'

interface Machine {
  platform: NodeJS.Platform
  environment: Record<string, string | undefined>
  homeDirectory: string
}

export const defaultDataDirectory = (machine: Machine): string =>
  directoryOf(machine, { variable: 'XDG_DATA_HOME', usual: ['.local', 'share'] })

export const defaultConfigDirectory = (machine: Machine): string =>
  directoryOf(machine, { variable: 'XDG_CONFIG_HOME', usual: ['.config'] })

function directoryOf(machine: Machine, onLinux: { variable: string; usual: string[] }): string {
  const { platform, environment, homeDirectory } = machine
  if (platform === 'win32') {
    return win32.join(environment.APPDATA || win32.join(homeDirectory, 'AppData', 'Roaming'), 'Scrapdeck')
  }
  if (platform === 'darwin') return posix.join(homeDirectory, 'Library', 'Application Support', 'Scrapdeck')
  // XDG specification: a relative path is invalid and must be ignored.
  const xdg = environment[onLinux.variable] ?? ''
  return posix.join(posix.isAbsolute(xdg) ? xdg : posix.join(homeDirectory, ...onLinux.usual), 'scrapdeck')
}
