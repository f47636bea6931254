import type { EngineInfo } from '../../../shared/contract/index.ts'
import type { EngineRow } from '../../storage/lease-table.ts'

/** An engine sends a heartbeat each second. */
export const SILENT_AFTER_MS = 5_000

/** `leader`: the id of the leading engine, if known. */
export function describeEngines(rows: readonly EngineRow[], leader: string | null): EngineInfo[] {
  return rows.map(({ id, name, address, version, hasLocalNode, startedAtMs, silentMs, isDrained }) => ({
    ...{ id, name, address, version, hasLocalNode, startedAtMs },
    ...{ silentMs: Math.max(0, Math.round(silentMs)), drained: isDrained },
    state: id === leader ? 'leading' : silentMs > SILENT_AFTER_MS ? 'silent' : 'following'
  }))
}
