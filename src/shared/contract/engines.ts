import { z } from 'zod'
import { read, write } from './operation.ts'

/** A process of Scrapdeck that shares its database with others. `id` is another one after each start. */
export const EngineInfo = z.object({
  id: z.string(),
  name: z.string(),
  /** Where the others reach it. */
  address: z.string(),
  version: z.string(),
  startedAtMs: z.number(),
  /** `silent`: it has not said for some seconds that it lives. */
  state: z.enum(['leading', 'following', 'silent']),
  silentMs: z.number(),
  /** It never leads. */
  drained: z.boolean(),
  /** It runs spiders itself: a node of the fleet under its name. */
  hasLocalNode: z.boolean()
})
export type EngineInfo = z.infer<typeof EngineInfo>

export const EngineList = z.object({
  /** On PostgreSQL; without it, there is only this engine. */
  shared: z.boolean(),
  engines: z.array(EngineInfo),
  /** Who led since when, and why; the newest first. */
  terms: z.array(z.object({ epoch: z.number().int(), engine: z.string(), sinceMs: z.number(), reason: z.string() }))
})
export type EngineList = z.infer<typeof EngineList>

const EngineId = z.string().min(1).max(100)

export const enginesContract = {
  list: read('read', 'GET /engines', 'seen').output(EngineList),
  /** Answers before it is done; requests may fail with NO_LEADER for a moment. Without `to`: the first one. */
  handOver: write('engines.operate', 'POST /engines/handover', 'service')
    .input(z.object({ to: EngineId.optional() }))
    .output(z.object({ handedOver: z.literal(true) })),
  /** Before maintenance: a drained engine goes on answering, but never leads; if it does, it hands over. */
  drain: write('engines.operate', 'POST /engines/{id}/drain', 'service')
    .input(z.object({ id: EngineId, drained: z.boolean() }))
    .output(z.object({ drained: z.boolean() }))
}
