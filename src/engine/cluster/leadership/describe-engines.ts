import type { EngineInfo } from '../../../shared/contract/index.ts'
import type { EngineRow, EngineSelf } from '../../storage/lease-table.ts'
import { canReadEachOther, isSamePlace } from '../../storage/blobs/blobs-place.ts'

/** How long an engine can go without a heartbeat before it counts as silent. Engines send one each second. */
export const SILENT_AFTER_MS = 5_000

/** An engine that was killed and started again is silent in its earlier row, however recent its last heartbeat is. */
export function describeEngines(rows: readonly EngineRow[], leader: string | null): EngineInfo[] {
  return rows.map((row) => {
    const { id, name, address, version, hasLocalNode, startedAtMs, silentMs, isDrained } = row
    const isSilent = silentMs > SILENT_AFTER_MS || rows.some((other) => replaces(other, row))
    return {
      id,
      name,
      address,
      version,
      hasLocalNode,
      startedAtMs,
      silentMs: Math.max(0, Math.round(silentMs)),
      drained: isDrained,
      state: id === leader ? 'leading' : isSilent ? 'silent' : 'following'
    }
  })
}

/** Only one process can listen at an address, so a later one there shows that the earlier one has ended. */
const replaces = (later: EngineRow, earlier: EngineRow): boolean =>
  later.id !== earlier.id && later.address === earlier.address && isBefore(earlier, later)

/** Returns the live engines that store eggs and logs elsewhere than `self`, or encrypt them with different keys. */
export function listApart(rows: readonly EngineRow[], self: EngineSelf): EngineRow[] {
  const others = rows.filter(
    // The same address means an earlier process of this engine.
    ({ id, address, silentMs }) => id !== self.id && address !== self.address && silentMs <= SILENT_AFTER_MS
  )
  return others.filter(({ blobs }) => !isSamePlace(blobs, self.blobs) || !canReadEachOther(blobs, self.blobs))
}

/**
 * Whether `one` started before `other`, or has the lower id if they started at the same time. The later one gives
 * way.
 */
export const isBefore = (one: EngineRow, other: EngineRow): boolean =>
  one.startedAtMs === other.startedAtMs ? one.id < other.id : one.startedAtMs < other.startedAtMs
