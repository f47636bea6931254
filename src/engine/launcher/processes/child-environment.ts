// In any case: Windows does not tell `Scrapdeck_Password` from `SCRAPDECK_PASSWORD`.
const KEPT_BACK = /^(SCRAPDECK_|SCRAPYD_(USERNAME|PASSWORD)$|ELECTRON_|SCRAPY_SETTINGS_MODULE$|SCRAPY_PROJECT$)/i

/**
 * The environment that Python processes inherit: all of ours, as with Scrapyd, but what is Scrapdeck's own (its
 * password may be in there, under Scrapyd's name as well), Electron's, and what would choose another project than the
 * egg's.
 */
export function childEnvironment(own: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !KEPT_BACK.test(entry[0])
  )
  return { ...Object.fromEntries(kept), PYTHONIOENCODING: 'UTF-8' }
}
