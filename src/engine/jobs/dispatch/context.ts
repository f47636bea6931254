import type { ProjectName, ProjectSettings } from '../../../shared/contract/index.ts'
import type { CancelWaitsMs } from '../../../shared/run-limits.ts'
import type { ItemsArchive } from '../../runs/log-collector/items-archive.ts'
import type { LogCollector } from '../../runs/log-collector/log-collector.ts'
import type { LogArchivePort } from '../../runs/logs/archive/log-archive.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import type { WaitingReasons } from '../queue/waiting-reasons.ts'
import type { Catalog } from '../../projects/catalog.ts'
import type { Distribution } from '../../projects/distribution.ts'
import type { Plugins } from '../../notify/plugins/plugins.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type {
  AttemptReader,
  AttemptStore,
  HoldStore,
  JobReader,
  LaneReader,
  QueueFailureStore
} from '../../storage/store.ts'
import type { LiveAttempts } from './live-attempts.ts'

export interface DispatchContext {
  /** Attempts are changed only through `live`, except by `markLogArchived`. */
  store: JobReader & LaneReader & HoldStore & QueueFailureStore & AttemptReader & Pick<AttemptStore, 'markLogArchived'>
  archive: Pick<LogArchivePort, 'copy' | 'keepCopied' | 'copies' | 'pack'>
  itemsArchive: Pick<ItemsArchive, 'keep' | 'giveUp'>
  collector: Pick<LogCollector, 'finish' | 'record' | 'writtenSinceMs' | 'figuresOf' | 'progressOf' | 'events'>
  fleet: Fleet
  live: LiveAttempts
  waiting: WaitingReasons
  clock: Clock
  logger: Logger
  cancelWaitsMs: CancelWaitsMs
  secrets: Pick<SecretBox, 'open'>
  catalog: Pick<Catalog, 'versionToRun'>
  projects: {
    settingsOf(
      project: ProjectName
    ): Pick<ProjectSettings, 'limits'> &
      Partial<
        Pick<ProjectSettings, 'weight' | 'paused' | 'cancelWaitSeconds' | 'outcome' | 'spiderOutcomes' | 'keepItems'>
      >
  }
  distribution: Pick<Distribution, 'stateOf' | 'ensure' | 'forget' | 'importErrors' | 'projectsWithImportErrors'>
  /** Whether this engine is certain to be the leader now. Absent: it is the only engine. */
  mayAct?: (() => boolean) | undefined
  /** Passes a job to plugins before it is sent. Null: no plugin has this hook. Never rejects. */
  beforeDispatch?: Plugins['beforeDispatch']
  /** Asks a plugin to choose nodes for jobs. Null: no plugin has this hook. Never rejects. */
  chooseNodes?: Plugins['chooseNodes']
}
