/** The operator's settings of the Scrapyd API: what clients see of `scrapyd.conf` (scrapyd-protocol.md, 8). */
export interface ScrapydDoorSettings {
  /** `node_name`; null: the name of this host. */
  nodeName: string | null
  /** `debug = on`: errors of the JSON endpoints are a traceback in plain text, as in Scrapyd. */
  debug: boolean
  /** Services with an empty value in `[services]`, by name (`cancel.json`): they do not exist. */
  disabledServices: ReadonlySet<string>
  /** `prefix_header`, in any case: the header with the base path that a proxy took off. */
  prefixHeader: string
  /** `logs_dir` is not empty: `/logs/` exists, and jobs have a `log_url`. */
  hasLogs: boolean
  /** `items_dir` is a local directory: `/items/` exists, and jobs have an `items_url`. */
  hasItems: boolean
  /**
   * `finished_to_keep`: how many finished jobs `listjobs.json`, `daemonstatus.json` and `/jobs` tell of. Infinity: all.
   */
  finishedToKeep: number
}

export const DEFAULT_DOOR_SETTINGS: ScrapydDoorSettings = {
  nodeName: null,
  debug: false,
  disabledServices: new Set(),
  prefixHeader: 'x-forwarded-prefix',
  hasLogs: true,
  hasItems: true,
  finishedToKeep: 100
}
