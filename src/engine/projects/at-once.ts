import pLimit from 'p-limit'
import type { NodeId, ProjectName, VersionName } from '../../shared/contract/index.ts'
import { Alarm, type Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Distribution } from './distribution.ts'
import type { Projects } from './projects.ts'

export interface AtOnceOptions {
  projects: Pick<Projects, 'catalog' | 'settingsOf'>
  distribution: Pick<Distribution, 'stateOf' | 'ensure'>
  nodeIds: () => NodeId[]
  clock: Clock
  logger: Logger
}

/** The delay before a scan. A starting fleet causes one change per node, and one scan handles many changes. */
const SCAN_AFTER_MS = 200

const SENT_AT_ONCE = 8

interface Target {
  nodeId: NodeId
  project: ProjectName
  version: VersionName
}

export class AtOnce {
  readonly #options: AtOnceOptions
  readonly #sending = pLimit(SENT_AT_ONCE)
  readonly #alarm: Alarm
  #isStopped = false

  constructor(options: AtOnceOptions) {
    this.#options = options
    this.#alarm = new Alarm(options.clock, () => {
      this.#sending.clearQueue()
      for (const target of this.#findAbsent()) void this.#sending(() => this.#send(target))
    })
  }

  /** Call this after a change of versions, settings or nodes, and at the end of a backoff. Cheap. */
  scanSoon(): void {
    if (!this.#alarm.isSet && this.#projects().length > 0) this.#alarm.set(SCAN_AFTER_MS)
  }

  stop(): void {
    this.#isStopped = true
    this.#alarm.stop()
    this.#sending.clearQueue()
  }

  #projects(): ProjectName[] {
    const { projects } = this.#options
    return projects.catalog.names().filter((project) => projects.settingsOf(project).distribution === 'at_once')
  }

  /** Omits uploads in backoff, for which `stateOf` returns `never`. */
  #findAbsent(): Target[] {
    const nodeIds = this.#options.nodeIds()
    return this.#projects().flatMap((project) => {
      const version = this.#options.projects.catalog.activeVersion(project)
      if (version === null) return []
      return nodeIds.map((nodeId) => ({ nodeId, project, version })).filter((target) => this.#isAbsent(target))
    })
  }

  /** Only logs errors, because the next scan retries what is still missing. */
  async #send(target: Target): Promise<void> {
    if (!this.#isAbsent(target)) return
    try {
      await this.#options.distribution.ensure(target.nodeId, target.project, target.version)
    } catch (error) {
      if (this.#isStopped) return
      this.#options.logger.warn(
        { ...target, error: String(error) },
        'an egg could not be sent in advance; retrying later'
      )
    }
  }

  #isAbsent({ nodeId, project, version }: Target): boolean {
    return this.#options.distribution.stateOf(nodeId, project, version) === 'absent'
  }
}
