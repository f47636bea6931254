import { z } from 'zod'
import { AnyProjectName, ProjectName } from './ids.ts'
import { ask, read, write } from './operation.ts'

/**
 * Proposed until a policy is set. Keeps jobs for more than a year, so that users can compare them, but logs only for
 * three months, because older logs are rarely read. Separate from the schemas, because every start of the engine needs
 * it.
 */
export const RECOMMENDED_POLICY: StoragePolicy = {
  paused: false,
  defaults: {
    jobs: { days: 400, perSpider: null, bytes: null },
    logs: { days: 90, perSpider: null, bytes: null },
    items: { days: 90, perSpider: null, bytes: null },
    eggs: { days: 180, newest: 5 }
  },
  projects: {},
  budgetBytes: null
}

const Bound = (max: number) => z.number().int().min(1).max(max).nullable()

/** The bounds of retention. Data that exceeds one of them is deleted; null: no bound. */
export const KeepPolicy = z.object({
  days: Bound(36_500).default(null),
  perSpider: Bound(10_000_000).default(null),
  bytes: z.number().int().min(1_000_000).max(1e15).nullable().default(null)
})
export type KeepPolicy = z.infer<typeof KeepPolicy>

/** A version is deleted if it is neither one of the `newest` of its project nor younger than `days`; null: never. */
export const EggPolicy = z.object({
  days: Bound(36_500).default(null),
  newest: z.number().int().min(1).max(10_000).default(5)
})

export type EggPolicy = z.infer<typeof EggPolicy>

export const RetentionPolicy = z.object({
  jobs: KeepPolicy,
  logs: KeepPolicy,
  items: KeepPolicy,
  eggs: EggPolicy
})
export type RetentionPolicy = z.infer<typeof RetentionPolicy>

export const ProjectRetentionPolicy = RetentionPolicy.partial()
export type ProjectRetentionPolicy = z.infer<typeof ProjectRetentionPolicy>

export const StoragePolicy = z.object({
  paused: z.boolean().default(false),
  defaults: RetentionPolicy,
  projects: z
    .record(ProjectName, ProjectRetentionPolicy)
    .refine((all) => Object.keys(all).length <= 2_000, 'At most 2,000 projects can have a policy')
    .default({}),
  /** A target for the data directory's size, which is reported but not enforced; null: the whole disk. */
  budgetBytes: z.number().int().min(1_000_000).max(1e15).nullable().default(null)
})
export type StoragePolicy = z.infer<typeof StoragePolicy>

export const ProtectionReason = z.enum([
  'kept',
  'newest',
  'may_have_run_twice',
  'schedule',
  'dependency',
  'dedupe',
  'chain'
])

const StoredKind = z.enum(['jobs', 'logs', 'items', 'eggs'])

/** For jobs, `bytes` is an estimate: the jobs' share of the database. */
export const ProjectUsage = z.object({
  project: AnyProjectName,
  jobs: z.object({ count: z.number().int(), bytes: z.number() }),
  logs: z.object({ count: z.number().int(), bytes: z.number() }),
  items: z.object({ count: z.number().int(), bytes: z.number() }),
  eggs: z.object({ count: z.number().int(), bytes: z.number() })
})
export type ProjectUsage = z.infer<typeof ProjectUsage>

/** Whether stored files are encrypted with the newest key. Counts eggs, archived logs and kept items. */
export const EncryptionState = z.object({
  keyId: z.string(),
  /** `waiting`: some files could not be encrypted. They are retried within the hour. */
  state: z.enum(['sealing', 'waiting', 'sealed']),
  sealed: z.number().int(),
  total: z.number().int(),
  /** Files encrypted with a lost key. They can be neither read nor encrypted again. */
  lost: z.number().int(),
  /** When all files were encrypted; null: not all are, or the time was not recorded. */
  sealedAtMs: z.number().nullable(),
  problem: z.object({ text: z.string(), files: z.number().int(), sinceMs: z.number() }).nullable()
})
export type EncryptionState = z.infer<typeof EncryptionState>

export const StorageUsage = z.object({
  projects: z.array(ProjectUsage),
  /** `canShrink` false: free pages are reused, but the file keeps its size until it is compacted. */
  database: z.object({ bytes: z.number(), freeBytes: z.number(), canShrink: z.boolean() }),
  cacheBytes: z.number(),
  searchIndexBytes: z.number(),
  /** The size of all known contents of the data directory. `measuredAtMs`: when the files were last measured. */
  totalBytes: z.number(),
  measuredAtMs: z.number().nullable(),
  disk: z
    .object({
      totalBytes: z.number(),
      freeBytes: z.number(),
      /** When the disk will be full at the current rate; null: not within a month, or unknown. */
      fullAtMs: z.number().nullable()
    })
    .nullable(),
  /** null: there is no key, so files are not encrypted. */
  encryption: EncryptionState.nullable(),
  retention: z.object({
    state: z.enum(['not_set', 'paused', 'idle', 'running']),
    startedAtMs: z.number().nullable(),
    endedAtMs: z.number().nullable(),
    jobs: z.number().int(),
    logs: z.number().int(),
    items: z.number().int(),
    eggs: z.number().int(),
    freedBytes: z.number(),
    problem: z.string().nullable()
  })
})
export type StorageUsage = z.infer<typeof StorageUsage>

export const PreviewRow = z.object({
  project: AnyProjectName,
  kind: StoredKind,
  count: z.number().int(),
  bytes: z.number(),
  oldestMs: z.number().nullable(),
  newestMs: z.number().nullable()
})
export type PreviewRow = z.infer<typeof PreviewRow>

/** What retention would do. `isCut`: whether the figures are lower bounds, because there was too much to count. */
export const StoragePreview = z.object({
  goes: z.array(PreviewRow),
  protected: z.array(PreviewRow.extend({ reason: ProtectionReason })),
  freesBytes: z.number(),
  isCut: z.boolean()
})
export type StoragePreview = z.infer<typeof StoragePreview>

const StoredPolicy = z.object({
  /** 0: no policy has been set. `policy` is then the recommended policy, and nothing is deleted. */
  revision: z.number().int(),
  policy: StoragePolicy
})

export const storageContract = {
  usage: read('read', 'GET /storage', 'seen').output(StorageUsage),
  policy: read('read', 'GET /storage/policy', 'seen').output(StoredPolicy),
  /** Rejects with CHANGED_MEANWHILE if `revision` is not the current revision. */
  setPolicy: write('storage.change', 'PUT /storage/policy', 'service').input(StoredPolicy).output(StoredPolicy),
  preview: ask('read', 'POST /storage/preview', 'seen')
    .input(z.object({ policy: StoragePolicy.optional() }))
    .output(StoragePreview),
  run: write('storage.change', 'POST /storage/run', 'service').output(z.object({ started: z.boolean() })),
  /** Rewrites the database without free pages. All other requests wait. */
  compact: write('storage.change', 'POST /storage/compact', 'service').output(z.object({ freedBytes: z.number() }))
}
