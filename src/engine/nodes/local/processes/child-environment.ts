// Case-insensitive, because Windows does not distinguish `Scrapdeck_Password` from `SCRAPDECK_PASSWORD`.
const KEPT_BACK = /^(SCRAPDECK_|SCRAPYD_(USERNAME|PASSWORD)$|ELECTRON_|SCRAPY_SETTINGS_MODULE$|SCRAPY_PROJECT$)/i

/**
 * The environment of Python processes. As with Scrapyd, they inherit ours, except Scrapdeck's variables and
 * SCRAPYD_USERNAME and SCRAPYD_PASSWORD (which can contain Scrapdeck's credentials), Electron's variables, and those
 * that select another project.
 */
export function childEnvironment(own: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !KEPT_BACK.test(entry[0])
  )
  return { ...Object.fromEntries(kept), PYTHONIOENCODING: 'UTF-8' }
}

/** What a crawl needs from the machine: languages, time zone, proxies and certificates. */
const FOR_ISOLATED =
  /^(PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|PYTHONHASHSEED|(HTTP|HTTPS|FTP|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)$/i

/** The environment in which packages are installed. Includes pip's variables, which can name a package index. */
export function environmentOfBuild(own: NodeJS.ProcessEnv, home: string): Record<string, string> {
  const ofPip = Object.entries(own).filter(
    (entry): entry is [string, string] => /^PIP_/i.test(entry[0]) && entry[1] !== undefined
  )
  return { ...isolatedEnvironment(own), ...Object.fromEntries(ofPip), HOME: home, PIP_NO_CACHE_DIR: '1' }
}

/** The environment of isolated spiders. They inherit only the variables named here. */
export function isolatedEnvironment(own: NodeJS.ProcessEnv): Record<string, string> {
  const named = Object.entries(childEnvironment(own)).filter(
    ([name]) => name === 'PYTHONIOENCODING' || FOR_ISOLATED.test(name)
  )
  // Runs override HOME. Without HOME, some packages cannot be imported, because the user has no account.
  return { ...Object.fromEntries(named), HOME: '/' }
}
