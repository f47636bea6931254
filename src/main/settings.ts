import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { listInstalledFiles, readConfiguration } from '../config/read-files.ts'
import { refusePlainHttp } from '../config/host-options.ts'
import { resolveServeOptions } from '../config/resolve.ts'
import type { ResolvedOptions } from '../config/serve-options.ts'

/**
 * Reads the same files and variables as the service, except for files that this user cannot read. `scrapdeck.conf` in
 * the app's own directory overrides the other files. Ignores the service's certificate. Throws BAD_INPUT and
 * PLAIN_HTTP_REFUSED, like the service.
 */
export function readDesktopSettings(
  userData: string,
  environment: Record<string, string | undefined>,
  homeDirectory: string
): ResolvedOptions {
  const own = join(userData, 'scrapdeck.conf')
  const files = [...listInstalledFiles({ homeDirectory }), { path: own, origin: 'user' } as const]
  const resolved = resolveServeOptions({
    flags: {},
    environment,
    configuration: readConfiguration(files, { skipUnreadable: true }),
    defaultDataDirectory: join(userData, 'data'),
    workingDirectory: userData,
    cpuCount: availableParallelism()
  })
  // Whether the port was set for Scrapdeck itself. A port from Scrapyd's own files or variables may be in use by a
  // Scrapyd, so the next free port is used instead.
  const { from } = resolved.listed.find(({ name }) => name === 'http_port')!
  const isPortNamed = from === 'SCRAPDECK_PORT' || from.startsWith(`${own},`)
  const options = { ...resolved.options, isPortNamed, tls: null }
  refusePlainHttp(options)
  return { ...resolved, options }
}
