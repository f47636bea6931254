/** The operator's settings of the Scrapyd API: the part of `scrapyd.conf` that clients see (scrapyd-protocol.md, 8). */
export interface ScrapydEndpointSettings {
  /** `node_name`; null: the name of this host. */
  nodeName: string | null
  /** `debug = on`: errors of the JSON endpoints are plain-text tracebacks, as in Scrapyd. */
  debug: boolean
  /** Services with an empty value in `[services]`, by name (`cancel.json`): they do not exist. */
  disabledServices: ReadonlySet<string>
  /** `prefix_header`, case-insensitive: the header with the base path that a proxy removed. */
  prefixHeader: string
  /** `logs_dir` is not empty: `/logs/` exists, and jobs have a `log_url`. */
  hasLogs: boolean
  /** `items_dir` is a local directory: `/items/` exists, and jobs have an `items_url`. */
  hasItems: boolean
  /** `finished_to_keep`: number of finished jobs in `listjobs.json`, `daemonstatus.json` and `/jobs`. Infinity: all. */
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
