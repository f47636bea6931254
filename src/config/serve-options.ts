import type { AnswerLimits, CacheAddress } from '../engine/runtime/cache-address.ts'
import type { EncryptionOptions } from '../engine/runtime/encryption-keys.ts'
import type { PostgresAddress } from '../engine/runtime/postgres-address.ts'
import type { SyslogAddress } from '../engine/runtime/syslog-address.ts'
import type { S3Address } from '../engine/runtime/s3-address.ts'
import type { SignInOptions } from '../server/auth/sign-in-options.ts'
import type { ConnectionLimits, RateLimits } from '../server/limits.ts'
import type { ScrapydEndpointSettings } from '../server/scrapyd/settings.ts'
import type { ConfiguredSource } from './discovery-options.ts'
import type { PluginSettings } from './plugin-options.ts'
import type { EngineOptions } from '../engine/index.ts'
import type { AlertCommand } from './alert-command-options.ts'

type IsolationSettings = NonNullable<EngineOptions['isolation']>
type WarmStarts = NonNullable<EngineOptions['warmStarts']>

export interface S3Options {
  address: S3Address
  /** In the format of Amazon's shared credentials file; null: the standard chain. */
  credentialsFile: string | null
  /** Size limit of the copies on this machine. */
  cacheBytes: number
}

/** The resolved options of a host: command line, then environment, then configuration files, then defaults. */
export interface ServeOptions {
  dataDirectory: string
  bindAddress: string
  /** 0: any free port; null: no TCP. */
  port: number | null
  /** The port was set explicitly, so no other one is tried. */
  isPortNamed: boolean
  unixSocketPath: string | null
  credentials: { username: string; password: string } | null
  /** Applies on every start; null: the number set before, otherwise `configuredSlots`, otherwise one per CPU. */
  localSlots: number | null
  /** From a file (`local_slots`, `max_proc`): adopted when the value in the file changes. */
  configuredSlots: number | null
  pythonPath: string | null
  /** null: the ssh in PATH. */
  sshProgram: string | null
  /** null: SQLite in the data directory. */
  postgres: PostgresAddress | null
  /** null: created in the data directory on the first start. */
  secretKeyFile: string | null
  /** null: stored files are not encrypted. */
  encryption: EncryptionOptions | null
  /** Distinguishes engines on the same database. null: the host name and the port. */
  engineName: string | null
  /** Where other engines reach this one. null: derived from the address it listens on. */
  engineAddress: string | null
  /** null: not on S3. */
  s3: S3Options | null
  /** An absolute path; null: not in a shared directory. Without either, blobs are in the data directory. */
  blobsDirectory: string | null
  /** null: this engine shares nothing. */
  cache: { address: CacheAddress; answers: AnswerLimits } | null
  warmStarts: WarmStarts
  isolation: IsolationSettings
  /** null: the host's default. */
  logLevel: 'debug' | 'info' | 'warn' | 'error' | null
  allowedHosts: string[]
  /** Waits between the steps of a cancel: after INT, after the second INT, after KILL; null: the engine's defaults. */
  cancelWaitsSeconds: [number, number, number] | null
  /** How long an identical order of POST /crawl returns the existing job; 0: never. */
  crawlCacheSeconds: number
  /** `days`: how long the audit log is kept; 0: for ever. */
  audit: { days: number; syslog: SyslogAddress | null }
  /** Laid out like Scrapyd's. Absent: in the data directory. null: none are written. */
  directories: {
    eggs?: string
    logs?: string | null
    /** A path, or a URL of a storage that Scrapy supports. */
    items?: string | null
    jobs?: string | null
  }
  /** Logs and item files kept per spider; null: all. */
  jobsToKeep: number | null
  /** Projects without an egg: their settings module by project name. */
  settingsProjects: Record<string, string>
  scrapyd: Partial<ScrapydEndpointSettings>
  /** Sources of nodes, in addition to those added in the UI. */
  discovery: ConfiguredSource[]
  plugins: PluginSettings[]
  webhookNetworks: string
  alertCommands: AlertCommand[]
  /** Directories with credential files that addresses of clusters may name. */
  clusterCredentialDirectories: string[]
  /** Where to send heartbeats, and how often. */
  heartbeat: { url: string; everySeconds: number } | null
  /** Files with secrets of this service, even if they are in one of those directories. */
  secretFiles: string[]
  /** Proxies that may name the client with X-Forwarded-For: addresses and networks. */
  trustedProxies: string[]
  /** Other engines that the UI links to: their names and addresses, without a trailing slash. */
  trustedEngines: { name: string; url: string }[]
  signIn: SignInOptions
  /**
   * The service's own certificate: its files, or self-signed. `clientAuthority`: clients need a certificate signed by
   * it. null: plain HTTP.
   */
  tls: { files: { certificate: string; key: string } | 'self-made'; clientAuthority: string | null } | null
  /** Plain HTTP on this port is redirected to HTTPS; null: none. */
  redirectPort: number | null
  /** A proxy in front of the service speaks TLS with the clients. */
  behindProxy: boolean
  /** The operator accepts that passwords travel unencrypted. */
  allowPlainHttp: boolean
  /** `isServed`: whether /metrics exists. `openTo`: addresses that need no password. */
  metrics: { isServed: boolean; prefix: string; openTo: string[] }
  rateLimits: RateLimits
  connectionLimits: ConnectionLimits
}

/** As parsed by commander: the text as typed. */
export interface ServeFlags {
  data?: string
  store?: string
  blobs?: string
  cache?: string
  bind?: string
  port?: string
  unixSocket?: string
  tlsCertificate?: string
  tlsKey?: string
  tlsSelfMade?: boolean
  tlsClientCa?: string
  httpRedirectPort?: string
  behindProxy?: boolean
  allowPlainHttp?: boolean
  username?: string
  password?: string
  localSlots?: string
  python?: string
  allowedHost?: string[]
}

export interface ResolvedOptions {
  options: ServeOptions
  /** Every option with its value as text and its origin, for `scrapdeck config`. */
  listed: ListedOption[]
  /** For the log: unknown names, values without effect. */
  warnings: string[]
}

export interface ListedOption {
  section: string
  name: string
  value: string
  from: string
}
