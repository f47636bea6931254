/**
 * Scrapy settings that only change how much and how fast a spider crawls. Any other setting can name code, files or
 * ports (EXTENSIONS, TELNETCONSOLE_…, plugin options), so setting it needs the permission `code.choose`.
 * https://docs.scrapy.org/en/latest/topics/settings.html
 */
const HARMLESS = new Set(
  `AJAXCRAWL_ENABLED AUTOTHROTTLE_DEBUG AUTOTHROTTLE_ENABLED AUTOTHROTTLE_MAX_DELAY AUTOTHROTTLE_START_DELAY
   AUTOTHROTTLE_TARGET_CONCURRENCY CLOSESPIDER_ERRORCOUNT CLOSESPIDER_ITEMCOUNT CLOSESPIDER_PAGECOUNT
   CLOSESPIDER_PAGECOUNT_NO_ITEM CLOSESPIDER_TIMEOUT CLOSESPIDER_TIMEOUT_NO_ITEM COMPRESSION_ENABLED CONCURRENT_ITEMS
   CONCURRENT_REQUESTS CONCURRENT_REQUESTS_PER_DOMAIN CONCURRENT_REQUESTS_PER_IP COOKIES_DEBUG COOKIES_ENABLED
   DEFAULT_REQUEST_HEADERS DEPTH_LIMIT DEPTH_PRIORITY DEPTH_STATS_VERBOSE DNSCACHE_ENABLED DNSCACHE_SIZE DNS_TIMEOUT
   DOWNLOAD_DELAY DOWNLOAD_FAIL_ON_DATALOSS DOWNLOAD_MAXSIZE DOWNLOAD_TIMEOUT DOWNLOAD_WARNSIZE DUPEFILTER_DEBUG
   FEED_EXPORT_FIELDS FEED_EXPORT_INDENT HTTPERROR_ALLOWED_CODES HTTPERROR_ALLOW_ALL HTTPPROXY_ENABLED LOGSTATS_INTERVAL
   LOG_ENABLED LOG_LEVEL LOG_SHORT_NAMES MEMDEBUG_ENABLED MEMUSAGE_CHECK_INTERVAL_SECONDS MEMUSAGE_ENABLED
   MEMUSAGE_LIMIT_MB MEMUSAGE_WARNING_MB METAREFRESH_ENABLED METAREFRESH_IGNORE_TAGS METAREFRESH_MAXDELAY
   RANDOMIZE_DOWNLOAD_DELAY REACTOR_THREADPOOL_MAXSIZE REDIRECT_ENABLED REDIRECT_MAX_TIMES REDIRECT_PRIORITY_ADJUST
   REFERER_ENABLED RETRY_ENABLED RETRY_HTTP_CODES RETRY_PRIORITY_ADJUST RETRY_TIMES ROBOTSTXT_OBEY ROBOTSTXT_USER_AGENT
   SCHEDULER_DEBUG SCRAPER_SLOT_MAX_ACTIVE_SIZE STATS_DUMP URLLENGTH_LIMIT USER_AGENT WARN_ON_GENERATOR_RETURN_VALUE`.split(
    /\s+/
  )
)

/** Scrapdeck itself sets these for a crawl order, from `ignore_cache` and `http_cache`. */
const OF_CRAWLS = new Set(['HTTPCACHE_ENABLED', 'HTTPCACHE_EXPIRATION_SECS'])

const RUNS_CODE = 'can make a run execute other code'

/**
 * Keeps a run from reading the node's files: Scrapy then has no handler for `file:`, `s3:` and `ftp:`, regardless of
 * how an address is spelled. Scrapy merges the project's DOWNLOAD_HANDLERS over these.
 */
export const WITHOUT_FILES = {
  DOWNLOAD_HANDLERS_BASE: JSON.stringify({
    data: 'scrapy.core.downloader.handlers.datauri.DataURIDownloadHandler',
    http: 'scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler',
    https: 'scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler'
  })
}

export const isWithoutFiles = (settings: Readonly<Record<string, string>>): boolean =>
  settings.DOWNLOAD_HANDLERS_BASE === WITHOUT_FILES.DOWNLOAD_HANDLERS_BASE

interface Given {
  settings?: Record<string, string> | undefined
  secretNames?: readonly string[] | undefined
  env?: Record<string, string> | undefined
  args?: Record<string, string> | undefined
  argSets?: Record<string, string>[] | undefined
  matrix?: Record<string, string[]> | undefined
}

/** Matches file addresses. Runs cannot open the ones that it misses, because they lack a handler (WITHOUT_FILES). */
const FILE_ADDRESS = /(?:^|[\s"'[(,;=|])file:/i
const CRAWLED = /^https?:/i
const SCHEME = /^\s*[a-z][a-z0-9+.-]*:/i

function isLocalAddress(name: string, value: string): boolean {
  if (FILE_ADDRESS.test(value)) return true
  if (name !== 'start_urls') return false
  return addressesIn(value).some((address) => SCHEME.test(address) && !CRAWLED.test(address.trim()))
}

function addressesIn(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list.map(String) : [text]
  } catch {
    return [text]
  }
}

function fileIn({ args = {}, argSets = [], matrix = {} }: Given): string | null {
  for (const values of [args, ...argSets, matrix]) {
    for (const [name, value] of Object.entries(values)) {
      if ([value].flat().some((text) => isLocalAddress(name, text)))
        return `The address in the argument ${name}, which is not http: or https:, can make a run read files of its node`
    }
  }
  return null
}

/**
 * Describes how a run, or a template for runs, could run code from outside its egg or read files of its node. null:
 * neither is possible.
 */
export function codeIn(given: Given, { isCrawl = false } = {}): string | null {
  const { settings = {}, env = {}, secretNames = [] } = given
  const variable = Object.keys(env)[0]
  if (variable !== undefined) return `The environment variable ${variable} ${RUNS_CODE}`
  const isOurs = (name: string) =>
    (name in WITHOUT_FILES && isWithoutFiles(settings)) || (isCrawl && OF_CRAWLS.has(name))
  const setting =
    Object.keys(settings).find((name) => !HARMLESS.has(name) && !isOurs(name)) ??
    secretNames.find((name) => name in WITHOUT_FILES)
  return setting === undefined ? fileIn(given) : `The setting ${setting} ${RUNS_CODE}`
}
