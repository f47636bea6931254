import { canReadEachOther, isSamePlace } from '../../storage/blobs/blobs-place.ts'
import type { EngineRow, EngineSelf } from '../../storage/lease-table.ts'
import { SILENT_AFTER_MS } from './describe-engines.ts'

/** Live engines that keep eggs and logs elsewhere than `self`, or encrypted with other keys. Pure. */
export function listApart(rows: readonly EngineRow[], self: EngineSelf): EngineRow[] {
  const others = rows.filter(
    // The same address: an earlier process of this engine.
    ({ id, address, silentMs }) => id !== self.id && address !== self.address && silentMs <= SILENT_AFTER_MS
  )
  return others.filter(({ blobs }) => !isSamePlace(blobs, self.blobs) || !canReadEachOther(blobs, self.blobs))
}

/** Decides which of two engines that start at the same moment gives way. Pure. */
export const isBefore = (one: EngineRow, other: EngineRow): boolean =>
  one.startedAtMs === other.startedAtMs ? one.id < other.id : one.startedAtMs < other.startedAtMs
