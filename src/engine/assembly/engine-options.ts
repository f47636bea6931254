import type { Worker } from 'node:worker_threads'
import type { Access } from '../access/access.ts'
import type { Audit } from '../access/audit/audit.ts'
import type { AccessOptions } from '../access/open-access.ts'
import type { SecondFactors } from '../access/second-factor/second-factors.ts'
import type { SignIns } from '../access/sign-ins.ts'
import type { RememberedAnswers } from '../api/commands/remembered-answers.ts'
import type { ApiOptions } from '../api/open-api.ts'
import type { EngineRouter } from '../api/router/router.ts'
import type { FleetAsScrapyd } from '../api/scrapyd-commands/scrapyd-commands.ts'
import type { CacheOptions } from '../cluster/cache/open-cache.ts'
import type { SharedAnswers } from '../cluster/cache/shared-answers.ts'
import type { SharedCache } from '../cluster/cache/shared-cache.ts'
import type { Leadership } from '../cluster/leadership/leadership.ts'
import type { MeasureDisk } from '../maintenance/retention/disk.ts'
import type { HealthWatch } from '../monitoring/health/health-watch.ts'
import type { MonitoringOptions } from '../monitoring/open-monitoring.ts'
import type { StoredNode } from '../model/records.ts'
import type { NameResolver } from '../nodes/discovery/name-resolver.ts'
import type { LocalNode } from '../nodes/local/local-node.ts'
import type { NodeClient } from '../nodes/node-client.ts'
import type { NodesOptions } from '../nodes/open-nodes.ts'
import type { PullingNodes } from '../nodes/pulling/pulling-nodes.ts'
import type { createConnection } from '../nodes/scrapyd/connection.ts'
import type { PluginSettings } from '../notify/plugins/plugin-thread.ts'
import type { Plugins } from '../notify/plugins/plugins.ts'
import type { DeliveryOptions } from '../notify/deliveries/open-deliveries.ts'
import type { Post } from '../notify/deliveries/post.ts'
import type { EggTree } from '../projects/egg-tree.ts'
import type { EggToSend } from '../projects/projects.ts'
import type { SettingsSource } from '../projects/settings-projects.ts'
import type { LogArchivePort } from '../runs/logs/archive/log-archive.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { LoopDelay } from '../runtime/loop-delay.ts'
import type { Random } from '../runtime/random.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import type { IncomingFiles } from '../storage/blobs/incoming-files.ts'
import type { StorageOptions } from '../storage/open-storage.ts'
import type { Store } from '../storage/store.ts'

/** Each wing names and describes the options that it reads. */
export interface EngineOptions
  extends StorageOptions,
    CacheOptions,
    AccessOptions,
    NodesOptions,
    DeliveryOptions,
    MonitoringOptions,
    ApiOptions {
  /**
   * The lease by which this engine can lead all engines on its database (`postgres.lease`). Absent if it is the only
   * engine.
   */
  leadership?: Leadership
  storeThread?: Worker
  settingsProjects?: Record<string, SettingsSource>
  /** Modules that run with the engine, each in its own thread (docs/plugins.md). */
  plugins?: readonly PluginSettings[]
  webhookNetworks?: string
  /** Secret files of the host application, which cluster addresses must not name. */
  secretFiles?: readonly string[]
  /**
   * The waits between the steps of a cancel, in seconds: after INT, after the second INT, after KILL. Default: 30, 15
   * and 15.
   */
  cancelWaitsSeconds?: readonly [number, number, number]
  logger?: Logger
  seams?: {
    clock?: Clock
    random?: Random
    store?: Store
    blobs?: BlobStore
    logArchive?: LogArchivePort
    /** null: archived logs are not indexed, and a search reads them all. */
    logIndex?: null
    /** null: item fields are not counted after a run. */
    itemCounts?: null
    localNode?: LocalNode | null
    createNodeClient?: (node: StoredNode, password: string | null) => NodeClient
    connect?: typeof createConnection
    eggTree?: Pick<EggTree, keyof EggTree>
    loopDelay?: LoopDelay
    measureDisk?: MeasureDisk
    resolver?: NameResolver
    post?: Post
  }
}

export interface Engine {
  /** The implemented contract (oRPC router), which every transport serves. Loaded on first use. */
  router(): Promise<EngineRouter>
  scrapyd: FleetAsScrapyd
  cache: SharedCache | null
  /** Responses of the Scrapyd API that the engines share. */
  sharedAnswers: SharedAnswers | null
  answers: Pick<RememberedAnswers, 'once'>
  incoming: Pick<IncomingFiles, 'begin' | 'toFile' | 'fromFile'>
  credentials: { username: string; password: string }
  /** Lets a plugin check a name and a password. null: no plugin has this hook. */
  authenticate: Plugins['authenticate']
  access: Access
  secondFactors: SecondFactors
  signIns: Pick<SignIns, 'redeem' | 'begin' | 'poll' | 'requireAllowed'>
  audit: Pick<Audit, 'perform' | 'refuse' | 'record' | 'newRequestId'>
  pulling: Pick<PullingNodes, 'authenticate' | 'get' | 'messages'>
  crawlCacheSeconds: number
  /**
   * Sets the address of the HTTP server. `plainHttpOn`: the address on which other machines can reach it by plain HTTP.
   */
  setAddress(address: string, plainHttpOn?: string | null): void
  /** Sets the certificate of the HTTP server, so that alerts can report its expiry. null: no TLS. */
  setCertificate(certificate: { readonly endsAtMs: number } | null): void
  health: Pick<HealthWatch, 'now' | 'check'>
  /** Returns the egg that a pod can fetch with this token. Rejects with EGG_LINK_INVALID. */
  openEgg(token: string): Promise<EggToSend>
  metrics(): Promise<string>
  /**
   * The number of our spiders that run on this machine. If there are any, the desktop asks the user before it quits.
   */
  localRunningCount(): number
  stopLocalSpiders(): Promise<void>
  /**
   * Refuses new work and waits for the last write. Spiders keep running. Can be called twice. Rejects if a part could
   * not be closed (several: with an AggregateError). Even then, closes all other parts, including the data directory.
   */
  stop(): Promise<void>
}
