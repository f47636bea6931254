import { EventEmitter } from 'node:events'
import pLimit from 'p-limit'
import type { Deployment, NodeId, ProjectName, VersionName } from '../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { type Clock, Timers } from '../runtime/clock.ts'
import { reportsOf } from '../runtime/reports.ts'
import type { StoredVersion } from '../model/records.ts'
import { WITHOUT_EGG } from './catalog.ts'
import type { EggToSend, Projects } from './projects.ts'

export interface EggReceiver {
  /** Called once when a node has received an egg whose spiders are unknown. */
  listSpiders(project: ProjectName, version: VersionName): Promise<string[]>
  addVersion(project: ProjectName, version: VersionName, egg: EggToSend): Promise<unknown>
}

export interface DistributionOptions {
  projects: Projects
  clientOf: (nodeId: NodeId) => EggReceiver | null
  /** Whether the node fetches each run's egg from us and therefore needs none in advance. Default: no node does. */
  fetchesEggs?: (nodeId: NodeId) => boolean
  /** The node's message if it could not import an egg; null for other errors. */
  importErrorOf: (error: unknown) => string | null
  clock: Clock
}

const FIRST_BACKOFF_MS = 30_000
const LONGEST_BACKOFF_MS = 10 * 60_000

const SENT_AT_ONCE = 8

/** The maximum length of a node's output. We keep the end, which contains the cause. */
const OUTPUT_KEPT = 2_000

interface Failure {
  error: unknown
  count: number
  untilMs: number
}

export interface ImportError {
  output: string
  atMs: number
}

type EggIdentity = Pick<StoredVersion, 'project' | 'version' | 'sha256'>

/** A different egg under the same name is tried immediately, without backoff. */
interface FailedEgg extends EggIdentity {
  failures: Map<NodeId, Failure>
  importErrors: Map<NodeId, ImportError>
}

/**
 * Tracks which node has which egg, and sends missing eggs, either before the first job that needs an egg or to many
 * nodes together.
 *
 *   absent ──ensure──> sending ──accepted──> present ──node no longer lists it──> missing ──ensure──> sending
 *                         └──refused or no response──> failed ──after backoff──> absent
 *
 * Callers see `absent` unless the node has the current egg: the egg can be missing, foreign (seen-on-nodes.ts) or
 * replaced since it was sent.
 */
export class Distribution {
  /** `changed`: an egg arrived on a node, or the backoff of a failed upload ended. */
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #options: DistributionOptions
  readonly #projects: Projects
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #sending = new Map<string, { sha256: string; done: Promise<void> }>()
  readonly #failed = new Map<string, FailedEgg>()

  constructor(options: DistributionOptions) {
    this.#options = options
    this.#projects = options.projects
    this.#clock = options.clock
    this.#timers = new Timers(options.clock)
  }

  /** `never`: we have no egg to send, or sending failed and its backoff is not over. */
  stateOf(nodeId: NodeId, project: ProjectName, version: VersionName): 'present' | 'sending' | 'absent' | 'never' {
    if (this.isPresent(nodeId, project, version)) return 'present'
    const stored = this.#projects.catalog.find(project, version)
    if (!stored?.sha256) return 'never'
    if (this.#sending.has(keyOf(nodeId, project, stored.version))) return 'sending'
    return this.#awaitedFailure(nodeId, stored) === undefined ? 'absent' : 'never'
  }

  /** The output of each node that cannot import the current egg of this version. Cheap if every node can. */
  importErrors(project: ProjectName, version: VersionName): ReadonlyMap<NodeId, ImportError> {
    const stored = this.#failed.size === 0 ? null : this.#projects.catalog.find(project, version)
    return (stored === null ? undefined : this.#failedEgg(stored)?.importErrors) ?? NO_ERRORS
  }

  projectsWithImportErrors(): ReadonlySet<ProjectName> {
    if (this.#failed.size === 0) return NO_PROJECTS
    const projects = new Set<ProjectName>()
    for (const [key, { project, version, sha256, importErrors }] of this.#failed) {
      if (this.#projects.catalog.find(project, version)?.sha256 !== sha256) this.#failed.delete(key)
      else if (importErrors.size > 0) projects.add(project)
    }
    return projects
  }

  isPresent(nodeId: NodeId, project: ProjectName, version: VersionName): boolean {
    const stored = this.#projects.catalog.find(project, version)
    if (!stored) return false
    if (nodeId === LOCAL_NODE_ID) return stored.sha256 !== null || stored.version === WITHOUT_EGG
    if (this.#options.fetchesEggs?.(nodeId) === true) return stored.sha256 !== null
    const deployment = this.#projects.catalog.deploymentOn(nodeId, stored)
    return deployment !== undefined && isCurrent(deployment, stored.sha256)
  }

  /**
   * Sends the egg if the node lacks it. Rejects with the node's error. During the backoff, rejects with the last
   * error without sending.
   */
  async ensure(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    if (this.isPresent(nodeId, project, version)) return
    const stored = this.#projects.catalog.requireEgg(project, version)
    const failure = this.#awaitedFailure(nodeId, stored)
    if (failure !== undefined && !this.#sending.has(keyOf(nodeId, project, stored.version))) throw failure.error
    return this.#send(nodeId, project, stored.version)
  }

  /** Sends to these nodes now, ignoring backoffs. Yields each state change, including failures. */
  async *deployToAll(project: ProjectName, version: VersionName, nodeIds: NodeId[]): AsyncGenerator<Deployment, void> {
    const stored = this.#projects.catalog.requireEgg(project, version)
    const current = (nodeId: NodeId): Deployment => {
      const known = this.#projects.catalog.find(project, stored.version)
      const deployment = known?.deployments.find((one) => one.nodeId === nodeId)
      return (
        deployment ?? { nodeId, state: 'present', sha256: stored.sha256, error: null, changedAtMs: stored.createdAtMs }
      )
    }
    yield* reportsOf<Deployment>((report) =>
      pLimit(SENT_AT_ONCE).map(new Set(nodeIds), async (nodeId) => {
        try {
          if (!this.isPresent(nodeId, project, stored.version)) {
            await this.#send(nodeId, project, stored.version, () => report(current(nodeId)))
          }
          report(current(nodeId))
        } catch (error) {
          report({ nodeId, state: 'failed', sha256: null, error: wordsOf(error), changedAtMs: this.#clock.nowMs() })
        }
      })
    )
  }

  async forget(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    await this.#projects.recordMissing(nodeId, project, version)
    this.events.emit('changed')
  }

  async forgetNode(nodeId: NodeId): Promise<void> {
    for (const [key, failed] of this.#failed) this.#forgetFailure(key, failed, nodeId)
    await this.#projects.forgetNode(nodeId)
  }

  stop(): void {
    this.#timers.stop()
  }

  #failedEgg({ project, version, sha256 }: EggIdentity): FailedEgg | undefined {
    if (this.#failed.size === 0) return undefined
    const failed = this.#failed.get(versionKey(project, version))
    return failed?.sha256 === sha256 ? failed : undefined
  }

  #awaitedFailure(nodeId: NodeId, egg: EggIdentity): Failure | undefined {
    const failure = this.#failedEgg(egg)?.failures.get(nodeId)
    return failure !== undefined && failure.untilMs > this.#clock.monotonicMs() ? failure : undefined
  }

  async #send(nodeId: NodeId, project: ProjectName, version: VersionName, onStart?: () => void): Promise<void> {
    const key = keyOf(nodeId, project, version)
    const egg = this.#projects.eggToSend(project, version)
    const running = this.#sending.get(key)
    if (running?.sha256 === egg.sha256) return running.done
    if (running !== undefined) {
      // The egg was replaced during the upload. If both eggs were sent concurrently, either could arrive last.
      await running.done.catch(() => {})
      if (!this.isPresent(nodeId, project, version)) await this.#send(nodeId, project, version, onStart)
      return
    }
    const done = this.#sendOnce(nodeId, project, version, egg, onStart).finally(() => this.#finish(key))
    this.#sending.set(key, { sha256: egg.sha256, done })
    await done
  }

  #finish(key: string): void {
    this.#sending.delete(key)
    this.events.emit('changed')
  }

  async #sendOnce(
    nodeId: NodeId,
    project: ProjectName,
    version: VersionName,
    egg: EggToSend,
    onStart?: () => void
  ): Promise<void> {
    const { sha256 } = egg
    const record = (state: Deployment['state'], error: string | null) =>
      this.#projects.recordDeployment(project, version, {
        nodeId,
        state,
        sha256: state === 'present' ? sha256 : null,
        error,
        changedAtMs: this.#clock.nowMs()
      })
    const client = this.#options.clientOf(nodeId)
    let current: StoredVersion | null
    try {
      await record('sending', null)
      onStart?.()
      if (client === null) throw new Error('The node was removed.')
      await client.addVersion(project, version, egg)
      current = this.#projects.catalog.find(project, version)
      // If the egg was replaced during the upload, this records that the node has the older egg.
      if (current?.sha256) await record('present', null)
    } catch (error) {
      this.#rememberFailure(nodeId, { project, version, sha256 }, error)
      await record('failed', wordsOf(error))
      throw error
    }
    const failed = this.#failedEgg({ project, version, sha256 })
    if (failed !== undefined) this.#forgetFailure(versionKey(project, version), failed, nodeId)
    if (client !== null && current?.sha256 === sha256 && current.spiders === null)
      await this.#askForSpiders(client, current)
  }

  /** Backs off after any failure, even a failure of our own disk, because an immediate retry would fail again. */
  #rememberFailure(nodeId: NodeId, egg: EggIdentity, error: unknown): void {
    const { project, version, sha256 } = egg
    // Ignore the failure if the egg was replaced or deleted during the upload, or the node was removed.
    const isCurrentEgg = this.#projects.catalog.find(project, version)?.sha256 === sha256
    if (!isCurrentEgg || this.#options.clientOf(nodeId) === null) return
    const failed = this.#failedEgg(egg) ?? { ...egg, failures: new Map(), importErrors: new Map() }
    this.#failed.set(versionKey(project, version), failed)
    const count = (failed.failures.get(nodeId)?.count ?? 0) + 1
    const delayMs = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (count - 1))
    failed.failures.set(nodeId, { error, count, untilMs: this.#clock.monotonicMs() + delayMs })
    this.#timers.set(delayMs, () => this.events.emit('changed'))
    const output = this.#options.importErrorOf(error)
    if (output === null) failed.importErrors.delete(nodeId)
    else failed.importErrors.set(nodeId, { output: output.slice(-OUTPUT_KEPT), atMs: this.#clock.nowMs() })
  }

  #forgetFailure(key: string, { failures, importErrors }: FailedEgg, nodeId: NodeId): void {
    failures.delete(nodeId)
    importErrors.delete(nodeId)
    if (failures.size === 0) this.#failed.delete(key)
  }

  /** We may have no Python here, so the first node that imports the egg lists its spiders. */
  async #askForSpiders(client: EggReceiver, asked: StoredVersion): Promise<void> {
    let spiders: string[]
    try {
      spiders = await client.listSpiders(asked.project, asked.version)
    } catch {
      return
    }
    await this.#projects.recordSpiders(asked, spiders)
  }
}

const NO_ERRORS: ReadonlyMap<NodeId, ImportError> = new Map()
const NO_PROJECTS: ReadonlySet<ProjectName> = new Set()

function versionKey(project: ProjectName, version: VersionName): string {
  return JSON.stringify([project, version])
}

function keyOf(nodeId: NodeId, project: ProjectName, version: VersionName): string {
  return JSON.stringify([nodeId, project, version])
}

function isCurrent({ state, sha256 }: Deployment, currentSha256: string | null): boolean {
  return state === 'present' && (currentSha256 === null || sha256 === currentSha256)
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
