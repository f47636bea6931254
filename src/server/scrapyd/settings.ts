/** The operator's settings of the Scrapyd API: those of `scrapyd.conf` that clients see (scrapyd-protocol.md, 8). */
export interface ScrapydEndpointSettings {
  /** `node_name`, or null for this host's name. */
  nodeName: string | null
  /** `debug = on`: errors of the JSON endpoints are plain-text tracebacks, as in Scrapyd. */
  debug: boolean
  /** Services with an empty value in `[services]`, by name (`cancel.json`). Clients see them as missing. */
  disabledServices: ReadonlySet<string>
  /** `prefix_header`, case-insensitive: the header in which a proxy states the base path that it removed. */
  prefixHeader: string
  /** `logs_dir` is set: `/logs/` exists, and jobs have a `log_url`. */
  hasLogs: boolean
  /** `items_dir` is a local directory: `/items/` exists, and jobs have an `items_url`. */
  hasItems: boolean
  /** `finished_to_keep`: finished jobs in `listjobs.json`, `daemonstatus.json` and `/jobs`. Infinity for all. */
  finishedToKeep: number
}

export const DEFAULT_ENDPOINT_SETTINGS: ScrapydEndpointSettings = {
  nodeName: null,
  debug: false,
  disabledServices: new Set(),
  prefixHeader: 'x-forwarded-prefix',
  hasLogs: true,
  hasItems: true,
  finishedToKeep: 100
}
