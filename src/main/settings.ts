import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { readConfiguration } from '../config/read-files.ts'
import { resolveServeOptions } from '../config/resolve.ts'
import type { ResolvedOptions } from '../config/serve-options.ts'

/**
 * What can be set of the service can be set here, in the same words: in `scrapdeck.conf` of the app's own directory and
 * in SCRAPDECK_ variables. Scrapyd's own files and variables are those of a Scrapyd beside us, and an app is started in
 * no directory that would tell which one. Throws BAD_INPUT, as the service does.
 */
export function readDesktopSettings(
  userData: string,
  environment: Record<string, string | undefined>
): ResolvedOptions {
  return resolveServeOptions({
    flags: {},
    environment: Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('SCRAPYD_'))),
    configuration: readConfiguration([join(userData, 'scrapdeck.conf')]),
    defaultDataDirectory: join(userData, 'data'),
    workingDirectory: userData,
    cpuCount: availableParallelism()
  })
}
