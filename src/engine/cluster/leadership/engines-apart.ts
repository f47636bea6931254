import { canReadEachOther, isSamePlace } from '../../storage/blobs/blobs-place.ts'
import type { EngineRow, EngineSelf } from '../../storage/lease-table.ts'
import { SILENT_AFTER_MS } from './describe-engines.ts'

/** Engines that live and keep eggs and logs somewhere else than `self`, or encrypted with other keys. Pure. */
export function listApart(rows: readonly EngineRow[], self: EngineSelf): EngineRow[] {
  const others = rows.filter(
    // Under the same address, an earlier life of this engine.
    ({ id, address, silentMs }) => id !== self.id && address !== self.address && silentMs <= SILENT_AFTER_MS
  )
  return others.filter(({ blobs }) => !isSamePlace(blobs, self.blobs) || !canReadEachOther(blobs, self.blobs))
}

/** Of two that start at the same moment, one gives way. Pure. */
export const isBefore = (one: EngineRow, other: EngineRow): boolean =>
  one.startedAtMs === other.startedAtMs ? one.id < other.id : one.startedAtMs < other.startedAtMs
