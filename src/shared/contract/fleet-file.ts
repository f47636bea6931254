import { z } from 'zod'
import { ask, read, write } from './operation.ts'

/** One thing that applying a fleet file would do, or did. */
export const FleetFileChange = z.object({
  noun: z.enum(['node', 'discovery', 'project', 'limits', 'schedule', 'chain', 'webhook']),
  name: z.string(),
  act: z.enum(['add', 'change', 'remove']),
  /** Fields that differ, with their values as YAML; secrets are never shown. */
  fields: z.array(z.object({ name: z.string(), from: z.string().nullable(), to: z.string().nullable() })),
  /** What is not wrong, but worth knowing before it is done: a project that is not deployed yet. Absent: nothing. */
  notes: z.array(z.string()).optional()
})
export type FleetFileChange = z.infer<typeof FleetFileChange>

const FleetFile = z.object({
  yaml: z.string().max(4_000_000),
  /** What the file does not name is removed; else it stays. */
  prune: z.boolean().default(false)
})

/** Fleet as code: nodes, sources, projects' settings, limits, schedules, chains and webhooks as one YAML file. */
export const fleetFileContract = {
  export: read('admin', 'GET /fleet-file').output(z.object({ yaml: z.string() })),
  plan: ask('admin', 'POST /fleet-file/plan')
    .input(FleetFile)
    .output(z.object({ changes: z.array(FleetFileChange) })),
  /** Checked whole before the first change; a later failure reports what was done. */
  apply: write('admin', 'POST /fleet-file/apply')
    .input(FleetFile)
    .output(z.object({ changes: z.array(FleetFileChange) }))
}
