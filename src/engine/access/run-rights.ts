/**
 * Settings of Scrapy that change how much and how fast a spider crawls, and nothing else. Any other can name code,
 * files or ports (EXTENSIONS, TELNETCONSOLE_…, options of plugins): whoever may set it may run other code on the node,
 * which is what the permission `code.choose` is for. https://docs.scrapy.org/en/latest/topics/settings.html
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

/** What Scrapdeck itself sets for a crawl order, from `ignore_cache` and `http_cache`. */
const OF_CRAWLS = new Set(['HTTPCACHE_ENABLED', 'HTTPCACHE_EXPIRATION_SECS'])

interface Given {
  settings?: Record<string, string> | undefined
  env?: Record<string, string> | undefined
}

/** What of a run, or of a template for runs, can make it run other code than that of its egg; null: nothing. */
export function codeIn({ settings = {}, env = {} }: Given, { isCrawl = false } = {}): string | null {
  const variable = Object.keys(env)[0]
  if (variable !== undefined) return `The environment variable ${variable}`
  const setting = Object.keys(settings).find((name) => !HARMLESS.has(name) && !(isCrawl && OF_CRAWLS.has(name)))
  return setting === undefined ? null : `The setting ${setting}`
}
