import type { BlobStore } from '../blobs/blob-store.ts'
import type { FleetAsScrapyd } from '../scrapyd-commands/scrapyd-commands.ts'
import type { RememberedAnswers } from '../commands/remembered-answers.ts'
import type { HealthWatch } from '../health/health-watch.ts'
import type { LocalNode } from '../launcher/local-node.ts'
import type { ConfiguredSource } from '../nodes/discovery/discovery.ts'
import type { NameResolver } from '../nodes/discovery/name-resolver.ts'
import type { NodeClient } from '../nodes/node-client.ts'
import type { createConnection } from '../nodes/scrapyd/connection.ts'
import type { PluginSettings } from '../plugins/plugin-thread.ts'
import type { EggTree } from '../projects/egg-tree.ts'
import type { SettingsSource } from '../projects/settings-projects.ts'
import type { EngineRouter } from '../router/router.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { LoopDelay } from '../runtime/loop-delay.ts'
import type { Random } from '../runtime/random.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import type { StoredNode } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { Post } from '../webhooks/post.ts'

export interface EngineOptions {
  dataDirectory: string
  host: 'desktop' | 'service'
  /** Where resources/ (python, demo) stands: differs between a checkout and a packaged app. */
  resourcesDirectory: string
  scrapdeckVersion: string
  secretBox?: SecretBox
  /** `--username`/`--password`; else made on first start and kept. */
  credentials?: { username: string; password: string }
  /** Spiders at once on the local node, whatever was set before; default: CPU count. 0 turns the local node off. */
  localSlots?: number
  /** From a configuration file: applied when it differs from the last start's; what was set in the UI since stays. */
  configuredSlots?: number
  /**
   * The local node's directories in Scrapyd's layout. Absent: in the data directory's local/ (jobs: none). null: none
   * are written. `items` may be a URL of a storage that Scrapy knows.
   */
  directories?: { eggs?: string; logs?: string | null; items?: string | null; jobs?: string | null }
  /** Logs and item files kept for each spider of the local node, besides those of live jobs; null: all. */
  jobsToKeep?: number | null
  /** Projects that run on the local node without an egg, by name. */
  settingsProjects?: Record<string, SettingsSource>
  pythonPath?: string
  /** Sources of nodes that the configuration file names. */
  discovery?: readonly ConfiguredSource[]
  /** Modules that run with the engine, each in a thread of its own (docs/plugins.md). */
  plugins?: readonly PluginSettings[]
  /** Networks inside this one that webhooks may go to: `10.1.0.0/16 127.0.0.1`. */
  webhookNetworks?: string
  /** Between the steps of a cancel: after INT, after the second INT, and after KILL. Default: 30, 15 and 15. */
  cancelWaitsSeconds?: readonly [number, number, number]
  logger?: Logger
  /** Tests only: every seam to the outside. */
  seams?: {
    clock?: Clock
    random?: Random
    store?: Store
    blobs?: BlobStore
    localNode?: LocalNode | null
    createNodeClient?: (node: StoredNode, password: string | null) => NodeClient
    /** The transport of every Scrapyd client and of the probe. */
    connect?: typeof createConnection
    eggTree?: Pick<EggTree, keyof EggTree>
    loopDelay?: LoopDelay
    resolver?: NameResolver
    post?: Post
  }
}

export interface Engine {
  /** The contract, implemented (oRPC router): what every door serves. */
  router: EngineRouter
  scrapyd: FleetAsScrapyd
  /** For requests that bring a key of their own (Idempotency-Key). */
  answers: Pick<RememberedAnswers, 'once'>
  credentials: { username: string; password: string }
  /** The HTTP door's address, told to clients. */
  setAddress(address: string): void
  health: Pick<HealthWatch, 'now' | 'check'>
  /** For Prometheus, in its text format. */
  metrics(): Promise<string>
  /** Spiders of ours that run on this machine now: quitting asks about them. */
  localRunningCount(): number
  stopLocalSpiders(): Promise<void>
  /**
   * Refuses new work, waits for the last write. Spiders go on. May be called twice. Rejects where a room could not be
   * closed (several: an AggregateError); all others are closed then, the data directory among them.
   */
  stop(): Promise<void>
}
