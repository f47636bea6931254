import { z } from 'zod'
import { ProjectName, AnyProjectName } from './ids.ts'
import { read, write } from './operation.ts'
import { Waiting } from './jobs.ts'
import { NodeTag } from './settings.ts'

/**
 * Allows at most `max` live runs of the matching spiders: in the whole fleet, on the nodes with a tag, or on each
 * node. All criteria must match: `{ project: 'shop' }` limits a project, `{ spider: 'price*', perNode: true, max: 1
 * }` keeps spiders of one site on separate nodes. `*` matches any text; null matches everything.
 */
export const LimitRule = z.object({
  id: z.string().regex(/^[0-9a-f]{1,32}$/),
  project: ProjectName.nullable(),
  spider: z.string().min(1).max(200).nullable(),
  /** Any string, because stored tags are not validated. */
  tag: z.string().max(60).nullable(),
  perNode: z.boolean(),
  max: z.number().int().min(0).max(1_000_000)
})
export type LimitRule = z.infer<typeof LimitRule>

export const NewLimitRule = LimitRule.extend({ tag: NodeTag.nullable() })

export const LaneSummary = z.object({
  lane: z.string(),
  project: AnyProjectName,
  spider: z.string(),
  depth: z.number().int(),
  waiting: Waiting
})
export type LaneSummary = z.infer<typeof LaneSummary>

const CountedLimit = LimitRule.extend({ live: z.number().int() })

export const queueContract = {
  /** `live`: how many runs count against the limit now. With `perNode`, the highest number on any node. */
  limits: read('read', 'GET /queue/limits', 'seen').output(z.object({ limits: z.array(CountedLimit) })),
  /** Replaces all limits. Runs above a new limit continue, and new runs wait until there is room. */
  setLimits: write('limits.change', 'PUT /queue/limits', 'service')
    .input(z.object({ limits: z.array(NewLimitRule).max(1_000) }))
    .output(z.object({ limits: z.array(CountedLimit) })),
  lanes: read('read', 'GET /queue/lanes', 'seen')
    .input(z.object({ limit: z.coerce.number().int().min(1).max(1_000).default(100) }))
    .output(z.object({ lanes: z.array(LaneSummary), total: z.number().int() }))
}
