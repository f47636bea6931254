import type { ScrapydDoorSettings } from '../server/scrapyd/settings.ts'
import type { ConfiguredSource } from './discovery-options.ts'
import type { PluginSettings } from './plugin-options.ts'

/**
 * What a host is set to, resolved: the command line, then the environment, then the configuration files, then defaults.
 */
export interface ServeOptions {
  dataDirectory: string
  bindAddress: string
  /** 0: any free one; null: no TCP at all. */
  port: number | null
  /** The port was set explicitly: no other one is tried. */
  isPortNamed: boolean
  unixSocketPath: string | null
  credentials: { username: string; password: string } | null
  /** Holds at every start; null: what was set before, else what a file says, else one for each CPU. */
  localSlots: number | null
  /** From a file (`max_proc`): taken over when it has changed there. */
  configuredSlots: number | null
  pythonPath: string | null
  allowedHosts: string[]
  /** Between the steps of a cancel: after INT, after the second INT, after KILL; null: as the engine has them. */
  cancelWaitsSeconds: [number, number, number] | null
  /** As Scrapyd lays them out. Absent: in the data directory. null: none are written. */
  directories: {
    eggs?: string
    logs?: string | null
    /** A path, or a URL of a storage that Scrapy knows. */
    items?: string | null
    jobs?: string | null
  }
  /** Logs and item files kept for each spider; null: all. */
  jobsToKeep: number | null
  /** Projects without an egg: their settings module by their name. */
  settingsProjects: Record<string, string>
  door: Partial<ScrapydDoorSettings>
  /** Sources of nodes, in addition to those set up in the UI. */
  discovery: ConfiguredSource[]
  plugins: PluginSettings[]
  /** Networks inside this one that webhooks may go to. */
  webhookNetworks: string
  /** How often each credential may ask the API; 0: as often as it likes; null: as the server has it. */
  apiRequestsPerSecond: number | null
}

/** As commander gives them: text, as typed. */
export interface ServeFlags {
  data?: string
  bind?: string
  port?: string
  unixSocket?: string
  username?: string
  password?: string
  localSlots?: string
  python?: string
  allowedHost?: string[]
}

export interface ResolvedOptions {
  options: ServeOptions
  /** Every option with its value in words and where it came from, for `scrapdeck config`. */
  listed: ListedOption[]
  /** What an operator should know, for the log: unknown names, values that have nothing to do here. */
  warnings: string[]
}

export interface ListedOption {
  section: string
  name: string
  value: string
  from: string
}
