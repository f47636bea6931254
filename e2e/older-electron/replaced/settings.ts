import { join } from 'node:path'

/** The engine's process reads the settings. The shell uses only these. */
export function readDesktopSettings(userData: string, environment: Record<string, string | undefined>) {
  return { options: { dataDirectory: environment['SCRAPDECK_DATA'] ?? join(userData, 'data') } }
}
