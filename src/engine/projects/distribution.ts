import { EventEmitter } from 'node:events'
import pLimit from 'p-limit'
import type { Deployment, NodeId, ProjectName, VersionName } from '../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { type Clock, Timers } from '../runtime/clock.ts'
import { reportsOf } from '../runtime/reports.ts'
import type { StoredVersion } from '../store/records.ts'
import { WITHOUT_EGG } from './catalog.ts'
import type { EggToSend, Projects } from './projects.ts'

/** The part of a node that distribution needs; EggTarget implements it. */
export interface EggReceiver {
  /** Called once after an egg arrived, if its spiders are not known yet. */
  listSpiders(project: ProjectName, version: VersionName): Promise<string[]>
  addVersion(project: ProjectName, version: VersionName, egg: EggToSend): Promise<unknown>
}

export interface DistributionOptions {
  projects: Projects
  /** Null: the node no longer exists. */
  clientOf: (nodeId: NodeId) => EggReceiver | null
  /** What a node said if it refused an egg because it cannot import it; null: another failure. */
  importErrorOf: (error: unknown) => string | null
  clock: Clock
}

const FIRST_BACKOFF_MS = 30_000
const LONGEST_BACKOFF_MS = 10 * 60_000

/** Concurrent uploads of one deployment, which share one uplink. */
const SENT_AT_ONCE = 8

interface Failure {
  /** The egg that failed: a different egg under the same name is tried at once. */
  sha256: string
  error: unknown
  count: number
  untilMs: number
}

/**
 * Tracks which node has which egg, and sends missing ones: on demand before the first job that needs it, or to many
 * nodes at once.
 *
 *   absent ──ensure──> sending ──accepted──> present ──node no longer lists it──> missing ──ensure──> sending
 *                         └──refused or no response──> failed ──after backoff──> absent
 *
 * Callers see `absent` for anything but the current egg: missing, foreign (seen-on-nodes.ts), or replaced since it was
 * sent.
 */
export class Distribution {
  /** `changed`: an egg arrived, or a failed upload may be retried. */
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #options: DistributionOptions
  readonly #projects: Projects
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #sending = new Map<string, Promise<void>>()
  readonly #failures = new Map<string, Failure>()
  /** By version: what the nodes said that cannot import its egg. */
  readonly #importErrors = new Map<string, { sha256: string; byNode: Map<NodeId, string> }>()

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
    const key = keyOf(nodeId, project, stored.version)
    if (this.#sending.has(key)) return 'sending'
    return this.#isWaiting(key, stored.sha256) ? 'never' : 'absent'
  }

  /** What each node said that cannot import the current egg of this version. Cheap if there is none. */
  importErrors(project: ProjectName, version: VersionName): ReadonlyMap<NodeId, string> {
    if (this.#importErrors.size === 0) return NO_ERRORS
    const known = this.#importErrors.get(versionKey(project, version))
    if (known === undefined || known.sha256 !== this.#projects.catalog.find(project, version)?.sha256) return NO_ERRORS
    return known.byNode
  }

  isPresent(nodeId: NodeId, project: ProjectName, version: VersionName): boolean {
    const stored = this.#projects.catalog.find(project, version)
    if (!stored) return false
    if (nodeId === LOCAL_NODE_ID) return stored.sha256 !== null || stored.version === WITHOUT_EGG
    const deployment = this.#projects.catalog.deploymentOn(nodeId, stored)
    return deployment !== undefined && isCurrent(deployment, stored.sha256)
  }

  /**
   * Resolves once the node has the egg; sends it if missing, at most one upload at a time. Rejects with the node's
   * error; during the backoff at once with the previous one, without sending.
   */
  async ensure(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    if (this.isPresent(nodeId, project, version)) return
    const stored = this.#projects.catalog.requireEgg(project, version)
    const key = keyOf(nodeId, project, stored.version)
    if (!this.#sending.has(key) && this.#isWaiting(key, stored.sha256!)) throw this.#failures.get(key)!.error
    return this.#send(nodeId, project, stored.version)
  }

  /** Sends to these nodes now, ignoring backoffs. Yields each step; a failed node is a step, not an error. */
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

  /** Call when the node does not know the version: it must be sent again. */
  async forget(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    await this.#projects.recordMissing(nodeId, project, version)
    this.events.emit('changed')
  }

  /** Cancels all retries. */
  stop(): void {
    this.#timers.stop()
  }

  #isWaiting(key: string, sha256: string): boolean {
    const failure = this.#failures.get(key)
    return failure !== undefined && failure.sha256 === sha256 && failure.untilMs > this.#clock.monotonicMs()
  }

  #send(nodeId: NodeId, project: ProjectName, version: VersionName, onStart?: () => void): Promise<void> {
    const key = keyOf(nodeId, project, version)
    const sent =
      this.#sending.get(key) ?? this.#sendOnce(key, nodeId, project, version, onStart).finally(() => this.#finish(key))
    this.#sending.set(key, sent)
    return sent
  }

  #finish(key: string): void {
    this.#sending.delete(key)
    this.events.emit('changed')
  }

  async #sendOnce(
    key: string,
    nodeId: NodeId,
    project: ProjectName,
    version: VersionName,
    onStart?: () => void
  ): Promise<void> {
    const record = (state: Deployment['state'], error: string | null) =>
      this.#projects.recordDeployment(project, version, {
        nodeId,
        state,
        sha256: state === 'present' ? sha256 : null,
        error,
        changedAtMs: this.#clock.nowMs()
      })
    const egg = this.#projects.eggToSend(project, version)
    const { sha256 } = egg
    const client = this.#options.clientOf(nodeId)
    let current: StoredVersion | null
    try {
      await record('sending', null)
      onStart?.()
      if (client === null) throw new Error('The node was removed.')
      await client.addVersion(project, version, egg)
      current = this.#projects.catalog.find(project, version)
      // If the egg was replaced while it was being sent, this records that the node has the older one.
      if (current?.sha256) await record('present', null)
    } catch (error) {
      // Back off after any failure, including one of our own disk: an immediate retry would fail again.
      const before = this.#failures.get(key)
      const count = before?.sha256 === sha256 ? before.count + 1 : 1
      const delayMs = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (count - 1))
      this.#failures.set(key, { sha256, error, count, untilMs: this.#clock.monotonicMs() + delayMs })
      this.#timers.set(delayMs, () => this.events.emit('changed'))
      this.#rememberImportError(nodeId, project, version, sha256, this.#options.importErrorOf(error))
      await record('failed', wordsOf(error))
      throw error
    }
    this.#failures.delete(key)
    this.#rememberImportError(nodeId, project, version, sha256, null)
    if (client !== null && current?.sha256 === sha256 && current.spiders === null)
      await this.#askForSpiders(client, project, version)
  }

  /** null: the node imported it, or failed otherwise. */
  #rememberImportError(
    nodeId: NodeId,
    project: ProjectName,
    version: VersionName,
    sha256: string,
    error: string | null
  ): void {
    const key = versionKey(project, version)
    const known = this.#importErrors.get(key)
    const byNode = known?.sha256 === sha256 ? known.byNode : new Map<NodeId, string>()
    if (error === null) byNode.delete(nodeId)
    else byNode.set(nodeId, error)
    if (byNode.size === 0) this.#importErrors.delete(key)
    else this.#importErrors.set(key, { sha256, byNode })
  }

  /** We may have no Python here, so the first node that imported the egg lists its spiders. */
  async #askForSpiders(client: EggReceiver, project: ProjectName, version: VersionName): Promise<void> {
    let spiders: string[]
    try {
      spiders = await client.listSpiders(project, version)
    } catch {
      // The upload itself succeeded. The spiders stay unknown until the next node gets the egg.
      return
    }
    await this.#projects.recordSpiders(project, version, spiders)
  }
}

const NO_ERRORS: ReadonlyMap<NodeId, string> = new Map()

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
