import { z } from 'zod'
import { NodeId, SourceId } from './ids.ts'
import { read, write } from './operation.ts'
import { NewSource, NodeAddress, SourceSettings } from './settings.ts'

export const SourceState = SourceSettings.extend({
  hasPassword: z.boolean(),
  /** Sources from the configuration file can only be changed there. */
  isFromConfiguration: z.boolean(),
  refreshedAtMs: z.number().nullable(),
  /** What went wrong in the last refresh, and what to do; nodes found before stay. */
  problem: z.string().nullable(),
  /** Number of nodes it lists now, and how many of its former ones it no longer lists. */
  found: z.number().int(),
  vanished: z.number().int(),
  /** The nodes it no longer lists, since when, and whether that is why they are cordoned. */
  vanishedNodes: z.array(z.object({ nodeId: NodeId, sinceMs: z.number(), isCordonedForIt: z.boolean() }))
})
export type SourceState = z.infer<typeof SourceState>

export const discoveryContract = {
  list: read('read', 'GET /discovery', 'seen').output(z.object({ sources: z.array(SourceState) })),
  /** Creates or replaces a source and refreshes it. `password` absent: unchanged. */
  put: write('nodes.change', 'PUT /discovery/{id}', 'service')
    .input(NewSource.extend({ password: NodeAddress.shape.password }))
    .output(SourceState),
  /** Its nodes stay as if they had been added by hand. */
  remove: write('nodes.change', 'DELETE /discovery/{id}', 'service')
    .input(z.object({ id: SourceId }))
    .output(z.object({ removed: SourceId })),
  refresh: write('nodes.change', 'POST /discovery/{id}/refresh', 'service')
    .input(z.object({ id: SourceId }))
    .output(SourceState)
}
