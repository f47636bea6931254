import type { Deployment, NodeId, ProjectName, VersionName } from '../../shared/contract/index.ts'
import { sanitiseVersion } from '../../shared/ids.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredVersion } from '../store/records.ts'
import type { VersionStore } from '../store/store.ts'
import type { Catalog } from './catalog.ts'
import { problemOfVersionName } from './names.ts'

export interface SeenOnNodesParts {
  store: VersionStore
  catalog: Catalog
  /** Deletes a version that exists nowhere any more. */
  forget: (stored: StoredVersion) => Promise<void>
  clock: Clock
}

/** What a node listed for a project. An egg sent after `askedAtMs` may be missing from it and is not affected. */
interface Seen {
  nodeId: NodeId
  project: ProjectName
  versions: VersionName[]
  spiders: string[] | null
  askedAtMs: number
}

/** Newest versions recorded per project and node: bounds the rows that a node can cause. */
const VERSIONS_MAX = 10_000

/**
 * Records what nodes list. Calls must be serialized: each writes whole versions. If we have an egg of a version, a
 * node's listing is only a name, which proves no more than this:
 *
 *   present ──not listed──> missing ──listed again, not by us──> foreign ──not listed──> (nothing)
 *   (nothing) ──listed──> foreign
 *
 * Sending leaves any of these states (distribution.ts). A version that only nodes have is `present` while listed.
 */
export class SeenOnNodes {
  readonly #parts: SeenOnNodesParts

  constructor(parts: SeenOnNodesParts) {
    this.#parts = parts
  }

  async recordSeen({ nodeId, project, versions, spiders, askedAtMs }: Seen): Promise<void> {
    const spellings = new Set(versions.map(sanitiseVersion))
    for (const stored of this.#parts.catalog.ascending(project)) {
      const isListed = spellings.has(sanitiseVersion(stored.version))
      const deployment = stored.deployments.find((one) => one.nodeId === nodeId)
      if (deployment !== undefined && deployment.changedAtMs >= askedAtMs) continue
      if (stored.sha256 !== null && isListed) await this.#recordListed(stored, nodeId, deployment)
      else if (!isListed) await this.recordMissing(nodeId, project, stored.version)
    }
    for (const [index, version] of versions.entries()) {
      if (index < versions.length - VERSIONS_MAX) continue
      if (problemOfVersionName(version) !== null) continue
      const isNewest = index === versions.length - 1
      // All were discovered now; distinct times keep the node's order.
      const createdAtMs = this.#parts.clock.nowMs() - (versions.length - 1 - index)
      await this.#recordVersion(nodeId, { project, version, createdAtMs, spiders: isNewest ? spiders : null })
    }
  }

  /** The node lists a version of this name, but only our own upload proves that it is our egg. */
  async #recordListed(stored: StoredVersion, nodeId: NodeId, deployment: Deployment | undefined): Promise<void> {
    if (deployment === undefined || deployment.state === 'missing')
      await this.#recordDeployment(stored, this.#listedOn(nodeId, 'foreign'))
  }

  /** Call when the node does not have this version. */
  async recordMissing(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    const stored = this.#parts.catalog.find(project, version)
    const deployment = stored?.deployments.find((one) => one.nodeId === nodeId)
    if (!stored || !deployment) return
    if (stored.sha256 === null || deployment.state === 'foreign') return this.drop(nodeId, project, version)
    if (deployment.state === 'present') {
      await this.#recordDeployment(stored, { ...deployment, state: 'missing', changedAtMs: this.#parts.clock.nowMs() })
    }
  }

  /** Records a version that only nodes have, or the spiders of a version without a list. */
  async #recordVersion(
    nodeId: NodeId,
    seen: { project: ProjectName; version: VersionName; createdAtMs: number; spiders: string[] | null }
  ): Promise<void> {
    const before = this.#parts.catalog.find(seen.project, seen.version)
    const isOurs = before !== null && before.sha256 !== null
    const isPresent = before?.deployments.some((one) => one.nodeId === nodeId)
    const isListing = seen.spiders !== null && (before?.spiders ?? null) === null
    if (isOurs ? !isListing : isPresent && !isListing) return
    const stored: StoredVersion = before ?? { ...seen, sha256: null, sizeBytes: null, deployments: [] }
    const deployments =
      isOurs || isPresent ? stored.deployments : [...stored.deployments, this.#listedOn(nodeId, 'present')]
    const next = { ...stored, spiders: isListing ? seen.spiders : stored.spiders, deployments }
    await this.#parts.store.putVersion(next)
    this.#parts.catalog.remember(next)
  }

  /** Removes a deployment, and its version if nothing else is known of it. */
  async drop(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    const stored = this.#parts.catalog.find(project, version)
    if (!stored?.deployments.some((one) => one.nodeId === nodeId)) return
    const rest = stored.deployments.filter((one) => one.nodeId !== nodeId)
    // The version was only known from nodes, and this was the last one.
    if (stored.sha256 === null && rest.length === 0) return this.#parts.forget(stored)
    await this.#parts.store.deleteDeployment(nodeId, stored.project, stored.version)
    this.#parts.catalog.remember({ ...stored, deployments: rest })
  }

  async #recordDeployment(stored: StoredVersion, deployment: Deployment): Promise<void> {
    await this.#parts.store.putDeployment(stored.project, stored.version, deployment)
    const others = stored.deployments.filter(({ nodeId }) => nodeId !== deployment.nodeId)
    this.#parts.catalog.remember({ ...stored, deployments: [...others, deployment] })
  }

  #listedOn(nodeId: NodeId, state: 'present' | 'foreign'): Deployment {
    return { nodeId, state, sha256: null, error: null, changedAtMs: this.#parts.clock.nowMs() }
  }
}
