import type { Deployment, NodeId, ProjectName, VersionName } from '../../shared/contract/index.ts'
import { sanitiseVersion } from '../../shared/ids.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredVersion } from '../store/records.ts'
import type { VersionStore } from '../store/store.ts'
import type { Catalog } from './catalog.ts'
import { hasControlCharacters } from './names.ts'

export interface SeenOnNodesParts {
  store: VersionStore
  catalog: Catalog
  /** Nothing is left of a version. */
  forget: (stored: StoredVersion) => Promise<void>
  clock: Clock
}

/** What a node listed of a project. What it got after `askedAtMs` may be missing there, and is not doubted. */
interface Seen {
  nodeId: NodeId
  project: ProjectName
  versions: VersionName[]
  spiders: string[] | null
  askedAtMs: number
}

/** Of one project on one node, the newest: whatever it lists, this much of it may become rows of ours. */
const VERSIONS_MAX = 10_000

/**
 * Records what nodes have. Calls must come one after another: each writes whole versions. Where we keep an egg, what a
 * node lists is only a name, which proves no more than this:
 *
 *   present ──not listed──> missing ──listed again, not by us──> foreign ──not listed──> (nothing)
 *   (nothing) ──listed──> foreign
 *
 * Sending leads out of each of them (distribution.ts). A version that only nodes have is `present` where it is listed.
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
      if (version === '' || version.length > 200 || hasControlCharacters(version)) continue
      const isNewest = index === versions.length - 1
      // Together they came to be known; the node's order is kept.
      const createdAtMs = this.#parts.clock.nowMs() - (versions.length - 1 - index)
      await this.#recordVersion(nodeId, { project, version, createdAtMs, spiders: isNewest ? spiders : null })
    }
  }

  /** The node lists a version of this name: it is only known to be our egg where our sending says so. */
  async #recordListed(stored: StoredVersion, nodeId: NodeId, deployment: Deployment | undefined): Promise<void> {
    if (deployment === undefined || deployment.state === 'missing')
      await this.#recordDeployment(stored, this.#listedOn(nodeId, 'foreign'))
  }

  /** The node says that it does not have this version. */
  async recordMissing(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    const stored = this.#parts.catalog.find(project, version)
    const deployment = stored?.deployments.find((one) => one.nodeId === nodeId)
    if (!stored || !deployment) return
    if (stored.sha256 === null || deployment.state === 'foreign') return this.drop(nodeId, project, version)
    if (deployment.state === 'present') {
      await this.#recordDeployment(stored, { ...deployment, state: 'missing', changedAtMs: this.#parts.clock.nowMs() })
    }
  }

  /** A version that only nodes have, or the spiders of one that nobody has listed yet. */
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

  /** The node itself is gone. */
  async drop(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    const stored = this.#parts.catalog.find(project, version)
    if (!stored?.deployments.some((one) => one.nodeId === nodeId)) return
    const rest = stored.deployments.filter((one) => one.nodeId !== nodeId)
    // Seen on nodes only, and now on none: there is nothing left of it.
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
