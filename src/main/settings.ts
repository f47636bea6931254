import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { readConfiguration } from '../config/read-files.ts'
import { resolveServeOptions } from '../config/resolve.ts'
import type { ResolvedOptions } from '../config/serve-options.ts'

/**
 * The desktop app accepts the options of the service: in `scrapdeck.conf` of its own directory and in SCRAPDECK_
 * variables. Scrapyd's own files and variables are ignored: they are for a Scrapyd on the same machine, and an app has
 * no working directory to find them by. Throws BAD_INPUT, like the service.
 */
export function readDesktopSettings(
  userData: string,
  environment: Record<string, string | undefined>
): ResolvedOptions {
  return resolveServeOptions({
    flags: {},
    environment: Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('SCRAPYD_'))),
    configuration: readConfiguration([{ path: join(userData, 'scrapdeck.conf'), origin: 'user' }]),
    defaultDataDirectory: join(userData, 'data'),
    workingDirectory: userData,
    cpuCount: availableParallelism()
  })
}
