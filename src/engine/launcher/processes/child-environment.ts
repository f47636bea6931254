// Case-insensitive, because Windows does not distinguish `Scrapdeck_Password` from `SCRAPDECK_PASSWORD`.
const KEPT_BACK = /^(SCRAPDECK_|SCRAPYD_(USERNAME|PASSWORD)$|ELECTRON_|SCRAPY_SETTINGS_MODULE$|SCRAPY_PROJECT$)/i

/**
 * The environment that Python processes inherit: all of ours, as with Scrapyd, except Scrapdeck's own variables (they
 * may contain its password, also under Scrapyd's name), Electron's, and those that would select another project than
 * the egg's.
 */
export function childEnvironment(own: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !KEPT_BACK.test(entry[0])
  )
  return { ...Object.fromEntries(kept), PYTHONIOENCODING: 'UTF-8' }
}
