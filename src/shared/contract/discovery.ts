import { z } from 'zod'
import { NodeId, SourceId } from './ids.ts'
import { read, write } from './operation.ts'
import { NodeAddress, NodeSettings } from './nodes.ts'

/**
 * Where nodes come from if not added by hand. `file`: one address per line (`URL [name=…] [slots=…] [tags=a,b]`, `#`
 * comments), read again when it changes. `list`: the same lines stored here, without passwords. `dns`: every address of
 * a name, as in Kubernetes' headless services. Nodes no longer listed are cordoned, never deleted.
 */
export const DiscoverySource = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('file'), path: z.string().min(1).max(4000) }),
  z.object({ kind: z.literal('list'), nodes: z.string().max(1_000_000) }),
  z.object({
    kind: z.literal('dns'),
    hostname: z.string().min(1).max(255),
    record: z.enum(['A', 'AAAA', 'SRV']),
    scheme: z.enum(['http', 'https']).default('http'),
    /** SRV records have their own ports. */
    port: z.number().int().min(1).max(65_535).default(6800),
    basePath: z.string().max(500).default('/')
  })
])
export type DiscoverySource = z.infer<typeof DiscoverySource>

const NodeDefaults = NodeSettings.pick({ slots: true, tags: true, group: true, queueAhead: true })

/** As stored: its names may be any text. */
export const SourceSettings = z.object({
  id: SourceId,
  source: DiscoverySource,
  refreshSeconds: z.number().int().min(5).max(86_400).default(30),
  /** Initial settings of the nodes it finds. Changes that an operator makes to a node later are kept. */
  node: NodeDefaults.extend({
    tags: z.array(z.string()).max(20).optional(),
    group: z.string().min(1).max(100).nullable().optional()
  }).default({}),
  username: NodeAddress.shape.username
})
export type SourceSettings = z.infer<typeof SourceSettings>

/** As entered. */
export const NewSource = SourceSettings.extend({ node: NodeDefaults.default({}) })

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
  list: read('viewer', 'GET /discovery').output(z.object({ sources: z.array(SourceState) })),
  /** Creates or replaces a source and refreshes it. `password` absent: unchanged. */
  put: write('admin', 'PUT /discovery/{id}')
    .input(NewSource.extend({ password: NodeAddress.shape.password }))
    .output(SourceState),
  /** Its nodes stay as if they had been added by hand. */
  remove: write('admin', 'DELETE /discovery/{id}')
    .input(z.object({ id: SourceId }))
    .output(z.object({ removed: SourceId })),
  refresh: write('admin', 'POST /discovery/{id}/refresh')
    .input(z.object({ id: SourceId }))
    .output(SourceState)
}
