import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { ToldProject } from './ids.ts'
import { read, write } from './operation.ts'
import { StartMode } from './nodes.ts'

/** A Python with packages, in which the local node runs the spiders of some projects. */
export const Environment = z.object({
  /** `main`: what projects get that name none; else a short hash of what it is made from. */
  id: z.string().regex(/^[a-z0-9-]{1,64}$/),
  kind: z.enum(['main', 'interpreter', 'requirements']),
  state: z.enum(['building', 'ready', 'failed']),
  /** The interpreter; null until there is one. */
  path: z.string().nullable(),
  version: z.string().nullable(),
  scrapyVersion: z.string().nullable(),
  /** Names of the projects that use it. */
  projects: z.array(ToldProject),
  start: StartMode,
  /** What is wrong and what to do, in words; null when ready. */
  problem: z.string().nullable(),
  /** The step under way, and how far it is; null unless building. */
  progress: z.object({ text: z.string(), share: z.number().min(0).max(1).nullable() }).nullable(),
  /** There is a log of its making. */
  hasLog: z.boolean(),
  madeAtMs: z.number().nullable()
})
export type Environment = z.infer<typeof Environment>

const ById = z.object({ id: Environment.shape.id })

export const environmentsContract = {
  list: read('viewer', 'GET /environments').output(z.object({ environments: z.array(Environment) })),
  /** The log of its making as it grows: pieces in order, from the start; ends when the making has ended. */
  log: read('viewer', 'GET /environments/{id}/log')
    .input(ById)
    .output(eventIterator(z.object({ text: z.string() }))),
  /** Rebuilds it from the same requirements. Runs that use it continue. */
  rebuild: write('deployer', 'POST /environments/{id}/rebuild').input(ById).output(Environment),
  /** Deletes one that no project uses. */
  remove: write('deployer', 'DELETE /environments/{id}')
    .input(ById)
    .output(z.object({ removed: z.string() }))
}
