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
  cacheBytes: number
}

/** The resolved options of a host. Flags take precedence over variables, files and defaults, in this order. */
export interface ServeOptions {
  dataDirectory: string
  bindAddress: string
  /** 0: any free port; null: no TCP. */
  port: number | null
  isPortNamed: boolean
  unixSocketPath: string | null
  credentials: { username: string; password: string } | null
  /** Applies on every start; null: the last number that was set, otherwise `configuredSlots`, otherwise one per CPU. */
  localSlots: number | null
  /** From a file (`local_slots`, `max_proc`). Applied when the value in the file changes. */
  configuredSlots: number | null
  pythonPath: string | null
  sshProgram: string | null
  postgres: PostgresAddress | null
  /** null: created in the data directory on the first start. */
  secretKeyFile: string | null
  encryption: EncryptionOptions | null
  /** Identifies this engine among those on the same database; null: the host name and the port. */
  engineName: string | null
  /** Where other engines reach this engine; null: derived from its listening address. */
  engineAddress: string | null
  s3: S3Options | null
  /** An absolute path; null: not in a shared directory. If `s3` is null too, blobs are in the data directory. */
  blobsDirectory: string | null
  cache: { address: CacheAddress; answers: AnswerLimits } | null
  warmStarts: WarmStarts
  isolation: IsolationSettings
  logLevel: 'debug' | 'info' | 'warn' | 'error' | null
  allowedHosts: string[]
  /** Seconds to wait after INT, after the second INT and after KILL; null: the engine's defaults. */
  cancelWaitsSeconds: [number, number, number] | null
  /** How long POST /crawl returns the existing job for an identical request; 0: never. */
  crawlCacheSeconds: number
  /** `days`: how long the audit log is kept; 0: forever. */
  audit: { days: number; syslog: SyslogAddress | null }
  /** Laid out like Scrapyd's directories. undefined: in the data directory; null: not written. */
  directories: {
    eggs?: string
    logs?: string | null
    /** A path, or the URL of a storage that Scrapy supports. */
    items?: string | null
    jobs?: string | null
  }
  /** Logs and item files to keep per spider; null: all. */
  jobsToKeep: number | null
  /** The settings module of each project without an egg, by project name. */
  settingsProjects: Record<string, string>
  scrapyd: Partial<ScrapydEndpointSettings>
  discovery: ConfiguredSource[]
  plugins: PluginSettings[]
  webhookNetworks: string
  alertCommands: AlertCommand[]
  clusterCredentialDirectories: string[]
  heartbeat: { url: string; everySeconds: number } | null
  /** Files that hold this service's secrets. Not to be used even if they are in `clusterCredentialDirectories`. */
  secretFiles: string[]
  /** Addresses and networks of the proxies that can name the client with X-Forwarded-For. */
  trustedProxies: string[]
  /** Other engines that the UI links to. The URLs have no trailing slash. */
  trustedEngines: { name: string; url: string }[]
  signIn: SignInOptions
  /**
   * The service's own certificate: two files, or self-signed; null: plain HTTP. `clientAuthority`: clients need a
   * certificate signed by this authority.
   */
  tls: { files: { certificate: string; key: string } | 'self-made'; clientAuthority: string | null } | null
  redirectPort: number | null
  behindProxy: boolean
  /** Whether the operator accepts that passwords travel unencrypted. */
  allowPlainHttp: boolean
  /** `isServed`: whether /metrics exists. `openTo`: addresses that need no password. */
  metrics: { isServed: boolean; prefix: string; openTo: string[] }
  rateLimits: RateLimits
  connectionLimits: ConnectionLimits
}

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
  listed: ListedOption[]
  warnings: string[]
}

export interface ListedOption {
  section: string
  name: string
  value: string
  from: string
}
