import { z } from 'zod'
import { NodeId, SourceId } from './ids.ts'
import { read, write } from './operation.ts'
import { NodeAddress, NodeSettings } from './nodes.ts'

/**
 * Where nodes come from besides being added by hand. `file`: one address a line (`URL [name=…] [slots=…] [tags=a,b]`,
 * `#` comments), read again when it changes. `list`: the same lines, kept here, without passwords. `dns`: every address
 * of a name, as Kubernetes' headless services give them. What a source no longer names is cordoned, never deleted.
 */
export const DiscoverySource = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('file'), path: z.string().min(1).max(4000) }),
  z.object({ kind: z.literal('list'), nodes: z.string().max(1_000_000) }),
  z.object({
    kind: z.literal('dns'),
    hostname: z.string().min(1).max(255),
    record: z.enum(['A', 'AAAA', 'SRV']),
    scheme: z.enum(['http', 'https']).default('http'),
    /** SRV records bring their own. */
    port: z.number().int().min(1).max(65_535).default(6800),
    basePath: z.string().max(500).default('/')
  })
])
export type DiscoverySource = z.infer<typeof DiscoverySource>

export const SourceSettings = z.object({
  id: SourceId,
  source: DiscoverySource,
  refreshSeconds: z.number().int().min(5).max(86_400).default(30),
  /** What the nodes that it finds begin with; what an operator changes on a node afterwards stays. */
  node: NodeSettings.pick({ slots: true, tags: true, group: true, queueAhead: true }).default({}),
  username: NodeAddress.shape.username
})
export type SourceSettings = z.infer<typeof SourceSettings>

export const SourceState = SourceSettings.extend({
  hasPassword: z.boolean(),
  /** Sources of the configuration file are changed there. */
  isFromConfiguration: z.boolean(),
  refreshedAtMs: z.number().nullable(),
  /** What went wrong at the last refresh, with the next step; nodes found before stay. */
  problem: z.string().nullable(),
  /** How many nodes it names now, and how many of ours it named before and does not now. */
  found: z.number().int(),
  vanished: z.number().int(),
  /** Those that it named before, since when they are missed, and whether that is why they are cordoned. */
  vanishedNodes: z.array(z.object({ nodeId: NodeId, sinceMs: z.number(), isCordonedForIt: z.boolean() }))
})
export type SourceState = z.infer<typeof SourceState>

export const discoveryContract = {
  list: read('viewer', 'GET /discovery').output(z.object({ sources: z.array(SourceState) })),
  /** Makes or replaces one, and refreshes it. `password` absent: as it was. */
  put: write('admin', 'PUT /discovery/{id}')
    .input(SourceSettings.extend({ password: NodeAddress.shape.password }))
    .output(SourceState),
  /** Its nodes stay, as if they had been added by hand. */
  remove: write('admin', 'DELETE /discovery/{id}')
    .input(z.object({ id: SourceId }))
    .output(z.object({ removed: SourceId })),
  refresh: write('admin', 'POST /discovery/{id}/refresh')
    .input(z.object({ id: SourceId }))
    .output(SourceState)
}
