/**
 * The environment that Python processes inherit: all of ours, as with Scrapyd, but what is Scrapdeck's own (its
 * password may be in there), Electron's, and what would choose another project than the egg's.
 */
export function childEnvironment(own: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(own).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(SCRAPDECK_|ELECTRON_|SCRAPY_SETTINGS_MODULE$|SCRAPY_PROJECT$)/.test(entry[0])
  )
  return { ...Object.fromEntries(kept), PYTHONIOENCODING: 'UTF-8' }
}
