import type { Deployment } from '../../shared/contract/index.ts'
import { sanitiseVersion } from '../../shared/ids.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredVersion } from '../store/records.ts'
import type { VersionStore } from '../store/store.ts'
import type { Catalog } from './catalog.ts'
import { hasControlCharacters } from './names.ts'

/**
 * Writes down what nodes have. Calls must come one after another: each writes whole versions. Of a version that we keep an egg of,
 * what a node lists is a name, which proves no more than this:
 *
 *   present ──not listed──> missing ──listed again, not by us──> foreign ──not listed──> (nothing)
 *   (nothing) ──listed──> foreign
 *
 * Sending leads out of each of them (distribution.ts). A version that only nodes have is `present` where it is listed.
 */
export interface SeenOnNodes {
  /** `askedAtMs`: when the node was asked. What reached it later may be missing from its answer, and is not doubted. */
  recordSeen(seen: {
    nodeId: string
    project: string
    versions: string[]
    spiders: string[] | null
    askedAtMs: number
  }): Promise<void>
  /** The node says that it does not have this version. */
  noteMissing(project: string, version: string, nodeId: string): Promise<void>
  /** The node itself is gone. */
  drop(project: string, version: string, nodeId: string): Promise<void>
}

/** Of one project on one node, the newest: whatever it lists, this much of it may become rows of ours. */
const VERSIONS_TAKEN_MAX = 10_000

export function createSeenOnNodes(parts: {
  store: VersionStore
  catalog: Catalog
  /** Nothing is left of a version. */
  forget: (stored: StoredVersion) => Promise<void>
  clock: Clock
}): SeenOnNodes {
  const { store, catalog, clock } = parts

  return {
    async recordSeen({ nodeId, project, versions, spiders, askedAtMs }) {
      const spellings = new Set(versions.map(sanitiseVersion))
      for (const stored of catalog.ascending(project)) {
        const isListed = spellings.has(sanitiseVersion(stored.version))
        const deployment = stored.deployments.find((one) => one.nodeId === nodeId)
        if (deployment !== undefined && deployment.changedAtMs >= askedAtMs) continue
        if (stored.sha256 !== null && isListed) await noteListed(stored, nodeId, deployment)
        else if (!isListed) await noteMissing(project, stored.version, nodeId)
      }
      for (const [index, version] of versions.entries()) {
        if (index < versions.length - VERSIONS_TAKEN_MAX) continue
        if (version === '' || version.length > 200 || hasControlCharacters(version)) continue
        const isNewest = index === versions.length - 1
        // Together they came to be known; the node's order is kept.
        const createdAtMs = clock.nowMs() - (versions.length - 1 - index)
        await noteVersion(nodeId, { project, version, createdAtMs, spiders: isNewest ? spiders : null })
      }
    },
    noteMissing,
    drop
  }

  /** The node lists a version of this name: it is only known to be our egg where our sending says so. */
  async function noteListed(stored: StoredVersion, nodeId: string, deployment: Deployment | undefined): Promise<void> {
    if (deployment === undefined || deployment.state === 'missing') await write(stored, listedOn(nodeId, 'foreign'))
  }

  async function noteMissing(project: string, version: string, nodeId: string): Promise<void> {
    const stored = catalog.find(project, version)
    const deployment = stored?.deployments.find((one) => one.nodeId === nodeId)
    if (!stored || !deployment) return
    if (stored.sha256 === null || deployment.state === 'foreign') return drop(project, version, nodeId)
    if (deployment.state === 'present') {
      await write(stored, { ...deployment, state: 'missing', changedAtMs: clock.nowMs() })
    }
  }

  /** A version that only nodes have, or the spiders of one that nobody has listed yet. */
  async function noteVersion(
    nodeId: string,
    seen: { project: string; version: string; createdAtMs: number; spiders: string[] | null }
  ): Promise<void> {
    const before = catalog.find(seen.project, seen.version)
    const isOurs = before !== null && before.sha256 !== null
    const isPresent = before?.deployments.some((one) => one.nodeId === nodeId)
    const isListing = seen.spiders !== null && (before?.spiders ?? null) === null
    if (isOurs ? !isListing : isPresent && !isListing) return
    const stored: StoredVersion = before ?? { ...seen, sha256: null, sizeBytes: null, deployments: [] }
    const deployments = isOurs || isPresent ? stored.deployments : [...stored.deployments, listedOn(nodeId, 'present')]
    const next = { ...stored, spiders: isListing ? seen.spiders : stored.spiders, deployments }
    await store.putVersion(next)
    catalog.remember(next)
  }

  async function drop(project: string, version: string, nodeId: string): Promise<void> {
    const stored = catalog.find(project, version)
    if (!stored?.deployments.some((one) => one.nodeId === nodeId)) return
    const rest = stored.deployments.filter((one) => one.nodeId !== nodeId)
    // Seen on nodes only, and now on none: there is nothing left of it.
    if (stored.sha256 === null && rest.length === 0) return parts.forget(stored)
    await store.deleteDeployment(stored.project, stored.version, nodeId)
    catalog.remember({ ...stored, deployments: rest })
  }

  async function write(stored: StoredVersion, deployment: Deployment): Promise<void> {
    await store.putDeployment(stored.project, stored.version, deployment)
    const others = stored.deployments.filter(({ nodeId }) => nodeId !== deployment.nodeId)
    catalog.remember({ ...stored, deployments: [...others, deployment] })
  }

  function listedOn(nodeId: string, state: 'present' | 'foreign'): Deployment {
    return { nodeId, state, sha256: null, error: null, changedAtMs: clock.nowMs() }
  }
}
