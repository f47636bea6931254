import type { Deployment, NodeId, ProjectName, VersionName } from '../../shared/contract/index.ts'
import { sanitiseVersion } from '../../shared/ids.ts'
import { yielder } from '../runtime/yielder.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredVersion, VersionChange } from '../model/records.ts'
import type { VersionStore } from '../storage/store.ts'
import type { Catalog } from './catalog.ts'
import { problemOfVersionName } from './names.ts'

export interface SeenOnNodesParts {
  store: Pick<VersionStore, 'changeVersions'>
  catalog: Catalog
  exclusively: <T>(change: () => Promise<T>) => Promise<T>
  hasNode: (nodeId: NodeId) => boolean
  clock: Clock
}

/** The names that a node listed for a project. An egg sent after `askedAtMs` is unaffected. */
interface Seen {
  nodeId: NodeId
  project: ProjectName
  versions: VersionName[]
  spiders: string[] | null
  askedAtMs: number
}

/** The maximum number of names per node that Scrapdeck knows only from nodes. */
export const KEPT_MAX = { versions: 20_000, spiders: 50_000 } as const
export type KeptNoun = keyof typeof KEPT_MAX

type Room = Record<KeptNoun, number>

const VERSIONS_MAX = 10_000

/** The maximum number of changes per transaction, so that uploads and dispatch do not wait long. */
const CHANGED_AT_ONCE = 1_000

/**
 * Records what nodes list. If we have the egg of a version, listings change its deployments only as follows:
 *
 *   present ──not listed──> missing ──listed again, not sent by us──> foreign ──not listed──> (nothing)
 *   (nothing) ──listed──> foreign
 *
 * Sending leaves any of these states (distribution.ts). A version that only nodes have is `present` while listed.
 */
export class SeenOnNodes {
  readonly #parts: SeenOnNodesParts
  readonly #room = new Map<NodeId, Room>()

  constructor(parts: SeenOnNodesParts) {
    this.#parts = parts
  }

  /** Returns the kinds of names that exceeded a limit. Call this for the listings of one node in order. */
  async recordSeen(seen: Seen): Promise<KeptNoun[]> {
    const { catalog, clock } = this.#parts
    const { nodeId, project, versions } = seen
    // Newest first, so that the limit drops the oldest. Distinct times keep the node's order.
    const nowMs = clock.nowMs()
    const bySpelling = new Map<string, { version: VersionName; createdAtMs: number }>()
    for (const [index, version] of versions.toReversed().entries()) {
      const spelling = sanitiseVersion(version)
      if (!bySpelling.has(spelling)) bySpelling.set(spelling, { version, createdAtMs: nowMs - index })
    }
    await this.#changeAll(nodeId, catalog.ascending(project), (stored, room) =>
      this.#planStored(stored, seen, bySpelling.has(sanitiseVersion(stored.version)), room)
    )
    const newest = versions.at(-1)
    const names = [...bySpelling.values()].slice(0, VERSIONS_MAX)
    const exceeded = new Set<KeptNoun>()
    const usable = names.filter(({ version }) => problemOfVersionName(version) === null)
    await this.#changeAll(nodeId, usable, (name, room) => {
      const spiders = name.version === newest ? seen.spiders : null
      return this.#planListed(seen, { project, ...name, spiders }, room, exceeded)
    })
    return [...exceeded]
  }

  async recordProjects(nodeId: NodeId, listed: readonly string[], askedAtMs: number): Promise<void> {
    const there = new Set(listed)
    // Recount: other changes may have used or freed room.
    this.#room.delete(nodeId)
    const gone = this.#versionsOn(nodeId, ({ project }) => !there.has(project))
    await this.#changeAll(nodeId, gone, (stored, room) => this.#planStored(stored, { nodeId, askedAtMs }, false, room))
  }

  async recordMissing(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    await this.#changeAll(nodeId, [{ project, version }], (one, room) => {
      const stored = this.#parts.catalog.find(one.project, one.version)
      return stored === null ? null : this.#planMissing(stored, nodeId, room)
    })
  }

  /** Call this after the node has left the fleet. Removes versions that have neither an egg nor another node. */
  async forgetNode(nodeId: NodeId): Promise<void> {
    await this.#parts.exclusively(async () => {})
    const planDropOf = (one: StoredVersion) => {
      const stored = this.#current(one)
      return stored === null ? null : planDrop(stored, nodeId)
    }
    await this.#changeAll(nodeId, this.#versionsOn(nodeId), planDropOf, () => true)
    this.#room.delete(nodeId)
  }

  /** Writes several transactions, so that uploads can run between them. `plan` updates `room`. */
  async #changeAll<Item>(
    nodeId: NodeId,
    items: readonly Item[],
    plan: (item: Item, room: Room) => VersionChange | null,
    isWanted = this.#parts.hasNode
  ): Promise<void> {
    const { store, catalog, clock, exclusively } = this.#parts
    const yieldTurn = yielder(clock)
    for (let from = 0; from < items.length; from += CHANGED_AT_ONCE) {
      await yieldTurn()
      await exclusively(async () => {
        if (!isWanted(nodeId)) return
        const room = { ...this.#roomOf(nodeId) }
        const changes = items.slice(from, from + CHANGED_AT_ONCE).flatMap((item) => plan(item, room) ?? [])
        if (changes.length === 0) return
        await store.changeVersions(changes)
        catalog.apply(changes)
        this.#room.set(nodeId, room)
      })
    }
  }

  #planStored(
    known: StoredVersion,
    { nodeId, askedAtMs }: Pick<Seen, 'nodeId' | 'askedAtMs'>,
    isListed: boolean,
    room: Room
  ): VersionChange | null {
    const stored = this.#current(known)
    if (stored === null) return null
    const { project, version } = stored
    const deployment = this.#deploymentOn(nodeId, stored)
    // A deployment that is not ours changes only through listings, and a node's listings arrive in order.
    const isOurs = stored.sha256 !== null && deployment?.state !== 'foreign'
    if (isOurs && deployment !== undefined && deployment.changedAtMs >= askedAtMs) return null
    if (!isListed) return this.#planMissing(stored, nodeId, room)
    // The node lists a version of this name, but only our own upload proves that it has our egg.
    const isNews = stored.sha256 !== null && (deployment === undefined || deployment.state === 'missing')
    return isNews ? { kind: 'deploy', project, version, deployment: this.#listedOn(nodeId, 'foreign') } : null
  }

  #planMissing(stored: StoredVersion, nodeId: NodeId, room: Room): VersionChange | null {
    const { project, version, sha256 } = stored
    const deployment = this.#deploymentOn(nodeId, stored)
    if (deployment === undefined) return null
    if (sha256 === null || deployment.state === 'foreign') {
      freeRoom(room, stored, 1)
      return planDrop(stored, nodeId)
    }
    if (deployment.state !== 'present') return null
    const missing = { ...deployment, state: 'missing' as const, changedAtMs: this.#parts.clock.nowMs() }
    return { kind: 'deploy', project, version, deployment: missing }
  }

  /** Plans a version that only nodes have, or the missing spiders of a version, and deducts them from `room`. */
  #planListed(
    { nodeId, askedAtMs }: Pick<Seen, 'nodeId' | 'askedAtMs'>,
    seen: { project: ProjectName; version: VersionName; createdAtMs: number; spiders: string[] | null },
    room: Room,
    exceeded: Set<KeptNoun>
  ): VersionChange | null {
    const { catalog } = this.#parts
    const before = catalog.find(seen.project, seen.version)
    const isOurs = before !== null && before.sha256 !== null
    const isNew = !isOurs && (before === null || this.#deploymentOn(nodeId, before) === undefined)
    if (isNew && room.versions <= 0) {
      exceeded.add('versions')
      return null
    }
    const isOtherEgg = isOurs && !this.#hadEgg(nodeId, before, askedAtMs)
    const wanted = isOtherEgg || (before?.spiders ?? null) !== null ? null : seen.spiders
    const hasRoom = isOurs || wanted === null || wanted.length <= room.spiders
    if (!hasRoom) exceeded.add('spiders')
    const spiders = hasRoom ? wanted : null
    if (!isNew && spiders === null) return null
    if (isNew) room.versions -= 1
    if (!isOurs) room.spiders -= spiders?.length ?? 0
    const stored: StoredVersion = before ?? { ...seen, sha256: null, sizeBytes: null, spiders: null, deployments: [] }
    const deployment = this.#listedOn(nodeId, 'present')
    if (before !== null && spiders === null) {
      return { kind: 'deploy', project: stored.project, version: stored.version, deployment }
    }
    const deployments = isNew ? [...stored.deployments, deployment] : stored.deployments
    return { kind: 'put', stored: { ...stored, spiders: spiders ?? stored.spiders, deployments } }
  }

  /** Reads the current state, because other changes run between the transactions. */
  #current({ project, version }: Pick<StoredVersion, 'project' | 'version'>): StoredVersion | null {
    const stored = this.#parts.catalog.find(project, version)
    return stored?.version === version ? stored : null
  }

  #versionsOn(nodeId: NodeId, isWanted: (stored: StoredVersion) => boolean = () => true): StoredVersion[] {
    return this.#parts.catalog
      .all()
      .filter((stored) => isWanted(stored) && this.#deploymentOn(nodeId, stored) !== undefined)
  }

  /** Whether the node already had our current egg at this time, so that the node's response is about that egg. */
  #hadEgg(nodeId: NodeId, stored: StoredVersion, atMs: number): boolean {
    const deployment = this.#deploymentOn(nodeId, stored)
    return deployment?.state === 'present' && deployment.sha256 === stored.sha256 && deployment.changedAtMs < atMs
  }

  #roomOf(nodeId: NodeId): Room {
    const known = this.#room.get(nodeId)
    if (known !== undefined) return known
    const room = { ...KEPT_MAX }
    for (const stored of this.#versionsOn(nodeId)) freeRoom(room, stored, -1)
    this.#room.set(nodeId, room)
    return room
  }

  #deploymentOn(nodeId: NodeId, stored: StoredVersion): Deployment | undefined {
    return this.#parts.catalog.deploymentOn(nodeId, stored)
  }

  #listedOn(nodeId: NodeId, state: 'present' | 'foreign'): Deployment {
    return { nodeId, state, sha256: null, error: null, changedAtMs: this.#parts.clock.nowMs() }
  }
}

function freeRoom(room: Room, stored: StoredVersion, sign: 1 | -1): void {
  if (stored.sha256 !== null) return
  room.versions += sign
  room.spiders += sign * (stored.spiders?.length ?? 0)
}

/** Removes a deployment. If only nodes had the version and this was the last of them, also removes the version. */
function planDrop({ project, version, sha256, deployments }: StoredVersion, nodeId: NodeId): VersionChange {
  const isLast = sha256 === null && deployments.every((one) => one.nodeId === nodeId)
  return isLast ? { kind: 'delete', project, version } : { kind: 'undeploy', project, version, nodeId }
}
