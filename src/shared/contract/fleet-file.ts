import { z } from 'zod'
import { ask, read, write } from './operation.ts'

export const FleetFileChange = z.object({
  noun: z.enum(['node', 'discovery', 'project', 'limits', 'schedule', 'chain', 'webhook', 'alert', 'retention']),
  name: z.string(),
  act: z.enum(['add', 'change', 'remove']),
  /** The fields that change, with both values as YAML. Secrets are never shown. */
  fields: z.array(z.object({ name: z.string(), from: z.string().nullable(), to: z.string().nullable() })),
  /** Remarks that are not errors, such as a project that is not deployed yet. */
  notes: z.array(z.string()).optional()
})
export type FleetFileChange = z.infer<typeof FleetFileChange>

const FleetFile = z.object({
  yaml: z.string().max(4_000_000),
  prune: z.boolean().default(false)
})

export const fleetFileContract = {
  export: read('fleet.apply', 'GET /fleet-file', 'service').output(z.object({ yaml: z.string() })),
  plan: ask('fleet.apply', 'POST /fleet-file/plan', 'service')
    .input(FleetFile)
    .output(z.object({ changes: z.array(FleetFileChange) })),
  /** Checks the whole file before the first change. A later failure reports the changes already made. */
  apply: write('fleet.apply', 'POST /fleet-file/apply', 'service')
    .input(FleetFile)
    .output(z.object({ changes: z.array(FleetFileChange) }))
}
