import type { NodeId, ProjectName, ProjectSettings, VersionName } from '../../shared/contract/index.ts'
import type { CancelWaitsMs } from '../../shared/run-limits.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Fleet } from '../nodes/fleet.ts'
import type { WaitingReasons } from '../queue/waiting-reasons.ts'
import type { Catalog } from '../projects/catalog.ts'
import type { Plugins } from '../plugins/plugins.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import type { AttemptStore, JobReader, QueueStore } from '../store/store.ts'
import type { LiveAttempts } from './live-attempts.ts'
import type { EggState } from './decide/place.ts'

/** What dispatching needs of the other rooms; wired once in wiring/rooms.ts. */
export interface DispatchContext {
  store: JobReader & QueueStore & AttemptStore
  blobs: BlobStore
  fleet: Fleet
  live: LiveAttempts
  waiting: WaitingReasons
  clock: Clock
  logger: Logger
  cancelWaitsMs: CancelWaitsMs
  /** Opens the secret values of a job when it is sent. */
  secrets: Pick<SecretBox, 'open'>
  catalog: Pick<Catalog, 'versionToRun'>
  projects: {
    settingsOf(
      project: ProjectName
    ): Pick<ProjectSettings, 'limits'> & Partial<Pick<ProjectSettings, 'weight' | 'paused'>>
  }
  distribution: {
    stateOf(nodeId: NodeId, project: ProjectName, version: VersionName): EggState
    ensure(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<unknown>
    forget(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void>
  }
  /** Asks plugins about a job that is about to be sent; null: none wants to be asked. Never rejects. */
  beforeDispatch?: Plugins['beforeDispatch']
}
