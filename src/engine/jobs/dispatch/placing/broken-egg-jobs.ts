import type { NodeId, ProjectName, VersionName } from '../../../../shared/contract/index.ts'
import { meetsTags } from '../../../../shared/tag-terms.ts'
import { say } from '../../../../shared/texts/message.ts'
import type { QueueLine } from '../../queue/fair-order.ts'
import type { WaitingPlan } from '../../queue/waiting-reasons.ts'
import type { QueueHead } from '../../../model/records.ts'
import type { DispatchContext } from '../context.ts'
import { type BrokenEgg, type EggCandidate, findBrokenEgg } from '../decide/broken-egg.ts'

export interface EggUpload {
  nodeId: NodeId
  project: ProjectName
  version: VersionName
}

type Context = Pick<DispatchContext, 'store' | 'fleet' | 'catalog' | 'distribution' | 'clock' | 'logger'>

const NODES_NAMED_MAX = 20

/**
 * Ends waiting jobs whose egg no node can import. A job waits for another import if it was queued, or its project was
 * resumed, after a node's last import, because what was missing may have been installed.
 */
export class BrokenEggJobs {
  readonly #context: Context
  readonly #sendEgg: (upload: EggUpload) => void
  /**
   * Jobs that were queued after the nodes refused the egg, and when they refused it. Such jobs need no second check.
   */
  readonly #cameAfterMs = new WeakMap<QueueHead, number>()
  /** The wall clock time when a project was last seen paused. Its nodes may have been repaired during the pause. */
  readonly #pausedAtMs = new Map<ProjectName, number>()

  constructor(context: Context, sendEgg: (upload: EggUpload) => void) {
    this.#context = context
    this.#sendEgg = sendEgg
  }

  /** Returns whether any line waits for an egg that a node refused. */
  async failThose({ everything, lines, lanes }: WaitingPlan, queue: ReadonlyMap<string, QueueLine>): Promise<boolean> {
    const { catalog, distribution, clock } = this.#context
    const projects = distribution.projectsWithImportErrors()
    if (projects.size === 0) {
      this.#pausedAtMs.clear()
      return false
    }
    const nowMs = clock.nowMs()
    if (everything !== null) for (const project of projects) this.#pausedAtMs.set(project, nowMs)
    let isAnyWaiting = false
    for (const [key, { code }] of lines) {
      const line = queue.get(key)
      if (line === undefined || !projects.has(line.project)) continue
      if (code === 'project_paused') {
        this.#pausedAtMs.set(line.project, nowMs)
        continue
      }
      isAnyWaiting = true
      const version = catalog.versionToRun(line.project, line.version)
      const broken = version === null ? null : findBrokenEgg(this.#candidates(line, version), nowMs)
      if (version === null || broken === null) continue
      // Skips jobs that a limit holds back, because an operator may have set the limit for that purpose.
      const heads = [...line.lanes.values()].flatMap(({ lane, jobs }) =>
        lanes.get(lane)?.code === 'limit' ? [] : jobs
      )
      const isAnyLater = await this.#failThoseBefore(broken, line.project, version, heads)
      if (!isAnyLater) continue
      for (const nodeId of broken.askAgain) this.#sendEgg({ nodeId, project: line.project, version })
    }
    return isAnyWaiting
  }

  async #failThoseBefore(
    { error, nodes, output, triedSinceMs }: BrokenEgg,
    project: ProjectName,
    version: VersionName,
    heads: QueueHead[]
  ): Promise<boolean> {
    const { store, clock, logger } = this.#context
    if (triedSinceMs <= (this.#pausedAtMs.get(project) ?? Number.NEGATIVE_INFINITY)) return heads.length > 0
    const suspects = heads.filter((head) => this.#cameAfterMs.get(head) !== triedSinceMs)
    if (suspects.length === 0) return heads.length > 0
    const ids = suspects.map(({ id }) => id)
    const failed = new Set(
      await store.failQueued(ids, error, triedSinceMs, {
        atMs: clock.nowMs(),
        message: say('timeline.egg_not_importable', { version, error }),
        evidence: { version, nodes: nodes.slice(0, NODES_NAMED_MAX), output }
      })
    )
    for (const head of suspects) if (!failed.has(head.id)) this.#cameAfterMs.set(head, triedSinceMs)
    if (failed.size > 0) {
      logger.warn({ project, version, error, jobs: failed.size }, 'no node can import an egg; its jobs fail')
    }
    return failed.size < heads.length
  }

  *#candidates(line: QueueLine, version: VersionName): Generator<EggCandidate> {
    const { fleet, distribution } = this.#context
    const errors = distribution.importErrors(line.project, version)
    if (errors.size === 0) return
    const { nodeId, tags } = line.placement
    for (const { stored, status } of fleet.list()) {
      if ((nodeId !== null && nodeId !== stored.id) || !meetsTags(tags, stored.tags)) continue
      const { id, name, mode } = stored
      yield {
        id,
        name,
        mode,
        isUp: status.health === 'up',
        awaySinceMs: status.awaySinceMs,
        egg: distribution.stateOf(id, line.project, version),
        importError: errors.get(id) ?? null
      }
    }
  }
}
