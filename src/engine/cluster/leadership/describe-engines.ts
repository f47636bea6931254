import type { EngineInfo } from '../../../shared/contract/index.ts'
import type { EngineRow, EngineSelf } from '../../storage/lease-table.ts'
import { canReadEachOther, isSamePlace } from '../../storage/blobs/blobs-place.ts'

/** Several missed heartbeats: engines send one each second. */
export const SILENT_AFTER_MS = 5_000

/** `leader`: the id of the leading engine, if known. */
export function describeEngines(rows: readonly EngineRow[], leader: string | null): EngineInfo[] {
  return rows.map(({ id, name, address, version, hasLocalNode, startedAtMs, silentMs, isDrained }) => ({
    id,
    name,
    address,
    version,
    hasLocalNode,
    startedAtMs,
    silentMs: Math.max(0, Math.round(silentMs)),
    drained: isDrained,
    state: id === leader ? 'leading' : silentMs > SILENT_AFTER_MS ? 'silent' : 'following'
  }))
}

/** Live engines that store eggs and logs in another place than `self`, or encrypt them with other keys. Pure. */
export function listApart(rows: readonly EngineRow[], self: EngineSelf): EngineRow[] {
  const others = rows.filter(
    // The same address means an earlier process of this engine.
    ({ id, address, silentMs }) => id !== self.id && address !== self.address && silentMs <= SILENT_AFTER_MS
  )
  return others.filter(({ blobs }) => !isSamePlace(blobs, self.blobs) || !canReadEachOther(blobs, self.blobs))
}

/** Decides which of two engines that start at the same moment gives way. Pure. */
export const isBefore = (one: EngineRow, other: EngineRow): boolean =>
  one.startedAtMs === other.startedAtMs ? one.id < other.id : one.startedAtMs < other.startedAtMs
