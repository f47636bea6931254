import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredNode } from '../store/records.ts'
import type { SettingStore } from '../store/store.ts'

/** What a configuration file says now, where that is news; else null: an operator's own change since then stays. */
export async function applyConfiguredSlots(store: SettingStore, slots: number | undefined): Promise<number | null> {
  const taken = await store.getSetting('local.configuredSlots')
  if (slots === undefined || slots === taken) return null
  await store.putSetting('local.configuredSlots', slots)
  return slots
}

/** The local node's row: made at first start, its settings kept afterwards. */
export function localNodeRow(stored: StoredNode | undefined, slots: number | null, clock: Clock): StoredNode {
  return {
    name: 'This computer',
    tags: [],
    mode: 'active',
    addedAtMs: clock.nowMs(),
    queueAhead: 0,
    giveUpAfterSeconds: null,
    group: null,
    ...stored,
    id: LOCAL_NODE_ID,
    kind: 'local',
    url: '',
    username: null,
    sealedPassword: null,
    caCertificate: null,
    slots,
    scrapydVersion: null,
    clientCertificate: null,
    sealedClientKey: null,
    sealedProxyUrl: null,
    sourceId: null
  }
}
