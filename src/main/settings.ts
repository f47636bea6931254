import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { listInstalledFiles, readConfiguration } from '../config/read-files.ts'
import { refusePlainHttp } from '../config/host-options.ts'
import { resolveServeOptions } from '../config/resolve.ts'
import type { ResolvedOptions } from '../config/serve-options.ts'

/**
 * Reads the same sources as the service: the installed configuration files and all variables, and over those files
 * `scrapdeck.conf` of the app's own directory. An app has no working directory in which to find more. Files that its
 * user may not read are for the service alone, and so is its certificate. Throws BAD_INPUT and PLAIN_HTTP_REFUSED, like
 * the service.
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
  // A port in Scrapyd's own files or variables may be taken by that Scrapyd, so the next free one is used instead.
  const { from } = resolved.listed.find(({ name }) => name === 'http_port')!
  const isPortNamed = from === 'SCRAPDECK_PORT' || from.startsWith(`${own},`)
  const options = { ...resolved.options, isPortNamed, tls: null }
  refusePlainHttp(options)
  return { ...resolved, options }
}
