import type { Contract } from '../shared/contract/index.ts'
import type { ImplementedRouter } from './router/router.ts'
import type { BlobStore } from './blobs/blob-store.ts'
import type { FleetAsScrapyd } from './commands/fleet-as-scrapyd.ts'
import type { LocalNode } from './launcher/local-node.ts'
import type { NodeClient } from './nodes/node-client.ts'
import type { Clock } from './runtime/clock.ts'
import type { Logger } from './runtime/logger.ts'
import type { Random } from './runtime/random.ts'
import type { SecretBox } from './runtime/secret-box.ts'
import type { Store, StoredNode } from './store/store.ts'

export interface EngineOptions {
  dataDirectory: string
  host: 'desktop' | 'service'
  /** Where resources/ (python, demo) stands: differs between a checkout and a packaged app. */
  resourcesDirectory: string
  scrapdeckVersion: string
  /** The HTTP door's address, told to clients; null when there is none. The server sets it once it listens. */
  address?: string | null
  secretBox?: SecretBox
  /** `--username`/`--password`; else made on first start and kept. */
  credentials?: { username: string; password: string }
  /** Spiders at once on the local node; default: CPU count. 0 turns the local node off. */
  localSlots?: number
  pythonPath?: string
  logger?: Logger
  /** Tests only: every seam to the outside. */
  seams?: {
    clock?: Clock
    random?: Random
    store?: Store
    blobs?: BlobStore
    localNode?: LocalNode | null
    createNodeClient?: (node: StoredNode, password: string | null) => NodeClient
  }
}

export interface Engine {
  /** The contract, implemented (oRPC router): what every door serves. */
  router: ImplementedRouter<Contract>
  scrapyd: FleetAsScrapyd
  credentials: { username: string; password: string }
  setAddress(address: string): void
  /** For /health: ready when the store is open and the first reconcile of the local node was made. */
  health(): { live: boolean; ready: boolean; reasons: string[] }
  /** Spiders of ours that run on this machine now: quitting asks about them. */
  localRunningCount(): number
  stopLocalSpiders(): Promise<void>
  /** Refuses new work, waits for the last write. Spiders go on. May be called twice. */
  stop(): Promise<void>
}
