import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { AnyProjectName } from './ids.ts'
import { read, write } from './operation.ts'
import { StartMode } from './nodes.ts'

/** A Python with packages in which the local node runs the spiders of some projects. */
export const Environment = z.object({
  /** `main`: the default for projects; otherwise a short hash of what it is built from. */
  id: z.string().regex(/^[a-z0-9-]{1,64}$/),
  kind: z.enum(['main', 'interpreter', 'requirements']),
  state: z.enum(['building', 'ready', 'failed']),
  /** The interpreter; null until it exists. */
  path: z.string().nullable(),
  version: z.string().nullable(),
  scrapyVersion: z.string().nullable(),
  /** Names of the projects that use it. */
  projects: z.array(AnyProjectName),
  start: StartMode,
  /** What is wrong and what to do; null when ready. */
  problem: z.string().nullable(),
  /** The current step and its progress; null unless building. */
  progress: z.object({ text: z.string(), share: z.number().min(0).max(1).nullable() }).nullable(),
  /** A build log exists. */
  hasLog: z.boolean(),
  madeAtMs: z.number().nullable()
})
export type Environment = z.infer<typeof Environment>

const ById = z.object({ id: Environment.shape.id })

export const environmentsContract = {
  list: read('read', 'GET /environments', 'seen').output(z.object({ environments: z.array(Environment) })),
  /** The build log as it grows, in pieces from the start; ends with the build. */
  log: read('read', 'GET /environments/{id}/log', { id: 'environment' })
    .input(ById)
    .output(eventIterator(z.object({ text: z.string() }))),
  /** Rebuilds it from the same requirements. Runs that use it continue. */
  rebuild: write('environments.change', 'POST /environments/{id}/rebuild', { id: 'environment' })
    .input(ById)
    .output(Environment),
  /** Deletes an environment that no project uses. */
  remove: write('environments.change', 'DELETE /environments/{id}', { id: 'environment' })
    .input(ById)
    .output(z.object({ removed: z.string() }))
}
