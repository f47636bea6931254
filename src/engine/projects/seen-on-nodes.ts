import type { Deployment } from '../../shared/contract/index.ts'
import { sanitiseVersion } from '../../shared/ids.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Store, StoredVersion } from '../store/store.ts'
import type { Catalog } from './catalog.ts'
import { hasControlCharacters } from './names.ts'

/** A node that lists a version may have been asked before our egg arrived: younger deployments are not doubted. */
const DOUBT_AFTER_MS = 60_000

/** Writes down what nodes have. Calls must come one after another: each writes whole versions. */
export interface SeenOnNodes {
  recordSeen(nodeId: string, project: string, versions: string[], spiders: string[] | null): Promise<void>
  drop(project: string, version: string, nodeId: string): Promise<void>
}

export function createSeenOnNodes(parts: {
  store: Pick<Store, 'putVersion' | 'deleteDeployment'>
  catalog: Catalog
  /** Nothing is left of a version. */
  forget: (stored: StoredVersion) => Promise<void>
  clock: Clock
}): SeenOnNodes {
  const { store, catalog, clock } = parts
  return { recordSeen, drop }

  async function recordSeen(nodeId: string, project: string, versions: string[], spiders: string[] | null) {
    const spellings = new Set(versions.map(sanitiseVersion))
    for (const stored of catalog.ascending(project)) {
      const deployment = stored.deployments.find((one) => one.nodeId === nodeId)
      const isListed = spellings.has(sanitiseVersion(stored.version))
      if (!deployment || deployment.state !== 'present' || isListed) continue
      if (clock.nowMs() - deployment.changedAtMs > DOUBT_AFTER_MS) await drop(project, stored.version, nodeId)
    }
    for (const [index, version] of versions.entries()) {
      if (version === '' || version.length > 200 || hasControlCharacters(version)) continue
      const isNewest = index === versions.length - 1
      const before = catalog.find(project, version)
      const isOurs = before !== null && before.sha256 !== null
      const isPresent = before?.deployments.some((one) => one.nodeId === nodeId)
      const isListing = isNewest && spiders !== null && (before?.spiders ?? null) === null
      if (isOurs ? !isListing : isPresent && !isListing) continue
      // Together they came to be known; the node's order is kept.
      const createdAtMs = clock.nowMs() - (versions.length - 1 - index)
      const empty = { project, version, sha256: null, sizeBytes: null, spiders: null, createdAtMs, deployments: [] }
      const stored: StoredVersion = before ?? empty
      const seen = {
        ...stored,
        spiders: isListing ? spiders : stored.spiders,
        deployments: isOurs || isPresent ? stored.deployments : [...stored.deployments, presentOn(nodeId)]
      }
      await store.putVersion(seen)
      catalog.remember(seen)
    }
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

  function presentOn(nodeId: string): Deployment {
    return { nodeId, state: 'present', sha256: null, error: null, changedAtMs: clock.nowMs() }
  }
}
