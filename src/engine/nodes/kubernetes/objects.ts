import { z } from 'zod'
import { RUN_ANNOTATION } from './job-manifest.ts'
import { LISTED_MAX } from '../list-limits.ts'

const Text = z
  .string()
  .max(4_000)
  .catch((context) => String(context.value).slice(0, 4_000))
const Terminated = z.object({
  exitCode: z.number().int(),
  signal: z.number().int().optional(),
  reason: Text.optional(),
  startedAt: z.string().nullish(),
  finishedAt: z.string().nullish()
})
const ContainerStatus = z.object({
  name: z.string(),
  state: z
    .object({
      waiting: z.object({ reason: Text.optional(), message: Text.optional() }).optional(),
      running: z.object({ startedAt: z.string().nullish() }).optional(),
      terminated: Terminated.optional()
    })
    .optional()
})
const Condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: Text.nullish(),
  message: Text.nullish()
})
const Metadata = z.object({
  name: z.string().max(253),
  uid: z.string().max(100),
  creationTimestamp: z.string().nullish(),
  deletionTimestamp: z.string().nullish(),
  annotations: z.record(z.string(), z.string()).nullish(),
  finalizers: z.array(z.string()).nullish(),
  ownerReferences: z.array(z.object({ kind: z.string(), name: z.string() })).nullish()
})

export const JobObject = z.object({
  metadata: Metadata,
  status: z.object({ conditions: z.array(Condition).nullish() }).nullish()
})
export type JobObject = z.infer<typeof JobObject>

export const PodObject = z.object({
  metadata: Metadata,
  spec: z.object({ nodeName: z.string().nullish() }).nullish(),
  status: z
    .object({
      phase: z.string().nullish(),
      reason: Text.nullish(),
      message: Text.nullish(),
      conditions: z.array(Condition).nullish(),
      initContainerStatuses: z.array(ContainerStatus).nullish(),
      containerStatuses: z.array(ContainerStatus).nullish()
    })
    .nullish()
})
export type PodObject = z.infer<typeof PodObject>
export type ContainerStatus = z.infer<typeof ContainerStatus>

export const ListPage = z.object({
  metadata: z.object({ resourceVersion: z.string().max(100), continue: z.string().max(10_000).optional() }),
  items: z.array(z.unknown()).nullish()
})

export const ApiStatus = z.object({
  kind: z.literal('Status'),
  message: Text.optional(),
  reason: z.string().max(100).optional(),
  details: z.object({ kind: z.string().max(200).optional(), group: z.string().max(200).optional() }).nullish()
})
export type ApiStatus = z.infer<typeof ApiStatus>

export const QuotaObject = z.object({
  metadata: z.object({ name: z.string() }),
  status: z.object({ hard: z.record(z.string(), z.string()).nullish() }).nullish()
})
export type QuotaObject = z.infer<typeof QuotaObject>

const Name = z.string().min(1).max(LISTED_MAX.nameCharacters)
const RunNote = z.object({
  project: Name.brand<'ProjectName'>(),
  spider: Name,
  jobid: Name,
  hasSecret: z.boolean().default(false)
})
export type RunNote = z.infer<typeof RunNote>

/** The run that an object belongs to. null: the object is not ours. */
export function runOf({ metadata }: { metadata: z.infer<typeof Metadata> }): RunNote | null {
  const text = metadata.annotations?.[RUN_ANNOTATION]
  if (text === undefined) return null
  try {
    return RunNote.parse(JSON.parse(text))
  } catch {
    // The annotation is damaged. The run counts as missing, so the engine investigates.
    return null
  }
}
