import type { Worker } from 'node:worker_threads'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import type { LogArchivePort } from '../runs/logs/archive/log-archive.ts'
import type { IncomingFiles } from '../storage/blobs/incoming-files.ts'
import type { FleetAsScrapyd } from '../api/scrapyd-commands/scrapyd-commands.ts'
import type { RememberedAnswers } from '../api/commands/remembered-answers.ts'
import type { HealthWatch } from '../monitoring/health/health-watch.ts'
import type { WarmStarts } from '../nodes/local/warm/warm-pool.ts'
import type { Leadership } from '../cluster/leadership/leadership.ts'
import type { LocalNode } from '../nodes/local/local-node.ts'
import type { ConfiguredSource } from '../nodes/discovery/discovery.ts'
import type { NameResolver } from '../nodes/discovery/name-resolver.ts'
import type { NodeClient } from '../nodes/node-client.ts'
import type { createConnection } from '../nodes/scrapyd/connection.ts'
import type { Access } from '../access/access.ts'
import type { SecondFactors } from '../access/second-factor/second-factors.ts'
import type { SignIns } from '../access/sign-ins.ts'
import type { Audit } from '../access/audit/audit.ts'
import type { PullingNodes } from '../nodes/pulling/pulling-nodes.ts'
import type { PluginSettings } from '../notify/plugins/plugin-thread.ts'
import type { Plugins } from '../notify/plugins/plugins.ts'
import type { EggToSend } from '../projects/projects.ts'
import type { EggTree } from '../projects/egg-tree.ts'
import type { SettingsSource } from '../projects/settings-projects.ts'
import type { EngineRouter } from '../api/router/router.ts'
import type { Clock } from '../runtime/clock.ts'
import type { EncryptionOptions } from '../runtime/encryption-keys.ts'
import type { KeepApart } from '../runtime/keep-apart.ts'
import type { Logger } from '../runtime/logger.ts'
import type { LoopDelay } from '../runtime/loop-delay.ts'
import type { Random } from '../runtime/random.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import type { StoredNode } from '../model/records.ts'
import type { MeasureDisk } from '../maintenance/retention/disk.ts'
import type { SharedAnswers } from '../cluster/cache/shared-answers.ts'
import type { SharedCache } from '../cluster/cache/shared-cache.ts'
import type { AnswerLimits, CacheAddress } from '../runtime/cache-address.ts'
import type { PostgresAddress } from '../runtime/postgres-address.ts'
import type { SyslogAddress } from '../runtime/syslog-address.ts'
import type { S3Address } from '../runtime/s3-address.ts'
import type { Store } from '../storage/store.ts'
import type { Post } from '../notify/webhooks/post.ts'

export interface EngineOptions {
  dataDirectory: string
  host: 'desktop' | 'service'
  /** Path of resources/ (python, demo); differs between a checkout and a packaged app. */
  resourcesDirectory: string
  scrapdeckVersion: string
  /** Other engines that the UI links to. Default: none. */
  trustedEngines?: { name: string; url: string }[]
  /** Queue, history and settings are in this database. Default: SQLite in the data directory. */
  postgres?: PostgresAddress | null
  /** This engine leads those on its database (`postgres.lease`). Absent: it is alone. */
  leadership?: Leadership
  /** Blobs are in this directory, which other engines may use too. Default: in the data directory. */
  blobsDirectory?: string | null
  /** Blobs are in this bucket. Not together with `blobsDirectory`. */
  s3?: { address: S3Address; credentialsFile: string | null; cacheBytes: number } | null
  /** Shared with other engines: rate limits, sessions and answers. Default: none. */
  cache?: { address: CacheAddress; answers: AnswerLimits } | null
  secretBox?: SecretBox
  /** The key file for sealed secrets; several engines share one. Default: created in the data directory. */
  secretKeyFile?: string | null
  /** Seals eggs, archived logs, items and caches at rest. Default: not sealed. */
  encryption?: EncryptionOptions | null
  /** Started before the options were known (startStoreThread). */
  storeThread?: Worker
  /** `--username`/`--password`; by default, created at the first start and kept. */
  credentials?: { username: string; password: string }
  /** Concurrent spiders on the local node, overriding earlier settings. Default: CPU count. 0 turns it off. */
  localSlots?: number
  /** From a configuration file: applied if changed since the last start, so later changes in the UI persist. */
  configuredSlots?: number
  /**
   * The local node's directories in Scrapyd's layout. Default: in the data directory's local/ (jobs: none). null: not
   * written. `items` may be the URL of a storage that Scrapy supports.
   */
  directories?: { eggs?: string; logs?: string | null; items?: string | null; jobs?: string | null }
  /** Logs and item files kept per spider of the local node, in addition to those of live jobs; null: all. */
  jobsToKeep?: number | null
  /** Projects that run on the local node without an egg, by name. */
  settingsProjects?: Record<string, SettingsSource>
  pythonPath?: string
  /** Connects to the SSH hosts of nodes. Default: the ssh in PATH. */
  sshProgram?: string
  /** Default: on, at most four parents with one parked child each, and no start waits for a parent. */
  warmStarts?: WarmStarts
  /** Whether the code of projects is isolated from Scrapdeck and from other projects. Default: not isolated. */
  keepApart?: KeepApart
  /** Node sources from the configuration file. */
  discovery?: readonly ConfiguredSource[]
  /** Modules that run with the engine, each in its own thread (docs/plugins.md). */
  plugins?: readonly PluginSettings[]
  /** Private networks that webhooks may be sent to: `10.1.0.0/16 127.0.0.1`. */
  webhookNetworks?: string
  /** Programs that alert channels may run, by name. */
  alertCommands?: readonly { name: string; program: string; args: readonly string[] }[]
  /** Where to send life signals of this engine, and how often; null: nowhere. */
  lifeSignal?: { url: string; everySeconds: number } | null
  /** Where browsers reach the app, for links in messages; null: unknown. */
  publicUrl?: string | null
  /** Directories with files of credentials that addresses of clusters may name. */
  clusterCredentialDirectories?: readonly string[]
  /** Secret files of the host application, which those addresses may not name. */
  secretFiles?: readonly string[]
  /** Names of metrics begin with it and `_`. Default: scrapdeck. */
  metricsPrefix?: string
  /** Waits between the steps of a cancel: after INT, after the second INT, after KILL. Default: 30, 15 and 15. */
  cancelWaitsSeconds?: readonly [number, number, number]
  /** How long identical crawl orders are answered with the same job, unless they say otherwise; 0: not at all. */
  crawlCacheSeconds?: number
  /** For how many days the audit log is kept (0: for ever; default: 400), and to which syslog server it is sent. */
  audit?: { days: number; syslog: SyslogAddress | null }
  logger?: Logger
  /** Tests only: replacements for everything outside the engine. */
  seams?: {
    clock?: Clock
    random?: Random
    store?: Store
    blobs?: BlobStore
    logArchive?: LogArchivePort
    /** null: archived logs are not indexed, and a search reads them all. */
    logIndex?: null
    /** null: the fields of items are not counted after a run. */
    itemCounts?: null
    localNode?: LocalNode | null
    createNodeClient?: (node: StoredNode, password: string | null) => NodeClient
    /** The transport of every Scrapyd client and of the probe. */
    connect?: typeof createConnection
    eggTree?: Pick<EggTree, keyof EggTree>
    loopDelay?: LoopDelay
    measureDisk?: MeasureDisk
    resolver?: NameResolver
    post?: Post
  }
}

export interface Engine {
  /** The implemented contract (oRPC router), which every transport serves; loaded at first use. */
  router(): Promise<EngineRouter>
  scrapyd: FleetAsScrapyd
  /** Of several engines; null: this one is alone. */
  cache: SharedCache | null
  /** Answers of the Scrapyd API that it shares with them. */
  sharedAnswers: SharedAnswers | null
  /** For requests with an idempotency key (Idempotency-Key). */
  answers: Pick<RememberedAnswers, 'once'>
  /** For uploads that arrive in requests. */
  incoming: Pick<IncomingFiles, 'begin' | 'toFile' | 'fromFile'>
  credentials: { username: string; password: string }
  /** Asks a plugin about a name and a password; null: no plugin checks them. */
  authenticate: Plugins['authenticate']
  /** Users and tokens, to identify the sender of a request. */
  access: Pick<
    Access,
    | 'findByPassword'
    | 'findByToken'
    | 'findByBearer'
    | 'admitBearer'
    | 'findVouched'
    | 'signIn'
    | 'disown'
    | 'noneOfItsOwn'
    | 'endSessions'
    | 'findBySession'
    | 'sessionStart'
    | 'endOtherSessions'
    | 'endAllSessions'
    | 'looksLikeToken'
    | 'isLocalName'
    | 'getUser'
    | 'isCurrent'
    | 'isEmpty'
    | 'roles'
    | 'createToken'
    | 'events'
  >
  /** Second factors and passkeys, for the login. */
  secondFactors: Pick<
    SecondFactors,
    | 'stepAfterPassword'
    | 'hasPasskey'
    | 'havePasskeys'
    | 'useCode'
    | 'beginSetUp'
    | 'confirmSetUp'
    | 'beginLogin'
    | 'finishLogin'
    | 'events'
  >
  /** Programs that people sign in, for the endpoints that those programs call. */
  signIns: Pick<SignIns, 'redeem' | 'begin' | 'poll' | 'requireAllowed'>
  /** What is done or refused outside the contract. */
  audit: Pick<Audit, 'perform' | 'refuse' | 'record' | 'newRequestId'>
  /** Nodes that pull their jobs, for their endpoint of the server. */
  pulling: Pick<PullingNodes, 'authenticate' | 'get' | 'messages'>
  /** As configured (EngineOptions). */
  crawlCacheSeconds: number
  /**
   * Sets the address of the HTTP server, as shown to clients. `plainHttpOn`: the address beyond this machine on which
   * it speaks plain HTTP, for the problems.
   */
  setAddress(address: string, plainHttpOn?: string | null): void
  /** Of the HTTP server, which may renew it; alerts report that it expires soon. null: no TLS. */
  setCertificate(certificate: { readonly endsAtMs: number } | null): void
  health: Pick<HealthWatch, 'now' | 'check'>
  /** The egg that a pod may fetch with this token. Rejects with EGG_LINK_INVALID. */
  openEgg(token: string): Promise<EggToSend>
  /** In Prometheus' text format. */
  metrics(): Promise<string>
  /** The number of spiders of ours that run on this machine; quitting asks about them. */
  localRunningCount(): number
  stopLocalSpiders(): Promise<void>
  /**
   * Refuses new work and waits for the last write. Spiders keep running. May be called twice. Rejects if a room could
   * not be closed (several: an AggregateError); all others, including the data directory, are closed by then.
   */
  stop(): Promise<void>
}
