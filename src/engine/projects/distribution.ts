import { EventEmitter } from 'node:events'
import pLimit from 'p-limit'
import type { Deployment, NodeId, ProjectName, VersionName } from '../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { type Clock, Timers } from '../runtime/clock.ts'
import { reportsOf } from '../runtime/reports.ts'
import type { StoredVersion } from '../store/records.ts'
import { WITHOUT_EGG } from './catalog.ts'
import type { Projects } from './projects.ts'

/** What distribution needs of a node; EggTarget is one. */
export interface EggReceiver {
  /** Asked once after the egg arrived, where nobody has listed its spiders yet. */
  listSpiders(project: ProjectName, version: VersionName): Promise<string[]>
  addVersion(project: ProjectName, version: VersionName, egg: Uint8Array): Promise<unknown>
}

export interface DistributionOptions {
  projects: Projects
  /** Null: there is no such node any more. */
  clientOf: (nodeId: NodeId) => EggReceiver | null
  clock: Clock
}

const FIRST_BACKOFF_MS = 30_000
const LONGEST_BACKOFF_MS = 10 * 60_000

/** Of one deployment to a whole fleet: uploads share one line to the outside. */
const SENT_AT_ONCE = 8

interface Failure {
  /** Of the egg that failed: another one under its name is tried at once. */
  sha256: string
  error: unknown
  count: number
  untilMs: number
}

/**
 * Which node has which egg, and sending what is missing: on demand before the first job that needs it, or to many at
 * once.
 *
 *   absent ──ensure──> sending ──accepted──> present ──the node lists it no longer──> missing ──ensure──> sending
 *                         └──refused or no answer──> failed ──after a while──> absent
 *
 * `absent` to callers is all that is not the current egg: missing, foreign (seen-on-nodes.ts), or replaced since it was
 * sent.
 */
export class Distribution {
  /** `changed`: an egg arrived, or one that failed may be tried again. */
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #options: DistributionOptions
  readonly #projects: Projects
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #sending = new Map<string, Promise<void>>()
  readonly #failures = new Map<string, Failure>()
  /** Eggs that are being sent, in memory once however many nodes get them. */
  readonly #inHand = new Map<string, { bytes: Promise<Uint8Array>; users: number }>()

  constructor(options: DistributionOptions) {
    this.#options = options
    this.#projects = options.projects
    this.#clock = options.clock
    this.#timers = new Timers(options.clock)
  }

  /** `never`: there is no egg of ours to send, or sending failed and waits for its next try. */
  stateOf(nodeId: NodeId, project: ProjectName, version: VersionName): 'present' | 'sending' | 'absent' | 'never' {
    if (this.isPresent(nodeId, project, version)) return 'present'
    const stored = this.#projects.catalog.find(project, version)
    if (!stored?.sha256) return 'never'
    const key = keyOf(nodeId, project, stored.version)
    if (this.#sending.has(key)) return 'sending'
    return this.#isWaiting(key, stored.sha256) ? 'never' : 'absent'
  }

  isPresent(nodeId: NodeId, project: ProjectName, version: VersionName): boolean {
    const stored = this.#projects.catalog.find(project, version)
    if (!stored) return false
    if (nodeId === LOCAL_NODE_ID) return stored.sha256 !== null || stored.version === WITHOUT_EGG
    const deployment = this.#projects.catalog.deploymentOn(nodeId, stored)
    return deployment !== undefined && isCurrent(deployment, stored.sha256)
  }

  /**
   * Resolves once the node has the egg; sends it where it is missing, at most once at a time. Rejects with the node's
   * error, at once and without sending while a failure waits for its next try.
   */
  async ensure(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    if (this.isPresent(nodeId, project, version)) return
    const stored = this.#projects.catalog.requireEgg(project, version)
    const key = keyOf(nodeId, project, stored.version)
    if (!this.#sending.has(key) && this.#isWaiting(key, stored.sha256!)) throw this.#failures.get(key)!.error
    return this.#send(nodeId, project, stored.version)
  }

  /** Sends to these nodes now, whatever failed before. Yields each step; a failed node is a step, not an error. */
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

  /** The node says it does not know the version: it must be sent again. */
  async forget(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    await this.#projects.recordMissing(nodeId, project, version)
    this.events.emit('changed')
  }

  /** Nothing is tried again any more. */
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
    const sha256 = this.#projects.catalog.requireEgg(project, version).sha256!
    const client = this.#options.clientOf(nodeId)
    let current: StoredVersion | null
    try {
      await record('sending', null)
      onStart?.()
      if (client === null) throw new Error('The node was removed.')
      await this.#withEgg(sha256, project, version, (egg) => client.addVersion(project, version, egg))
      current = this.#projects.catalog.find(project, version)
      // It may have been replaced while it was on its way: then this says that the node has another egg than today's.
      if (current?.sha256) await record('present', null)
    } catch (error) {
      // Whatever failed, our own disk too: tried again at once it would fail again at once.
      const before = this.#failures.get(key)
      const count = before?.sha256 === sha256 ? before.count + 1 : 1
      const delayMs = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (count - 1))
      this.#failures.set(key, { sha256, error, count, untilMs: this.#clock.monotonicMs() + delayMs })
      this.#timers.set(delayMs, () => this.events.emit('changed'))
      await record('failed', wordsOf(error))
      throw error
    }
    this.#failures.delete(key)
    if (client !== null && current?.sha256 === sha256 && current.spiders === null)
      await this.#askForSpiders(client, project, version)
  }

  /** There is no Python here, so the first node that imported the egg tells what is in it. */
  async #askForSpiders(client: EggReceiver, project: ProjectName, version: VersionName): Promise<void> {
    let spiders: string[]
    try {
      spiders = await client.listSpiders(project, version)
    } catch {
      // The egg is there, which is what was asked for. The spiders stay unknown until the next node gets it.
      return
    }
    await this.#projects.recordSpiders(project, version, spiders)
  }

  async #withEgg(
    sha256: string,
    project: ProjectName,
    version: VersionName,
    use: (egg: Uint8Array) => Promise<unknown>
  ): Promise<void> {
    const held = this.#inHand.get(sha256) ?? { bytes: this.#projects.eggBytes(project, version), users: 0 }
    this.#inHand.set(sha256, held)
    held.users++
    try {
      await use(await held.bytes)
    } finally {
      if (--held.users === 0) this.#inHand.delete(sha256)
    }
  }
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
