import { z } from 'zod'
import { LISTED_MAX } from '../list-limits.ts'

/**
 * What a pulling node sends (docs/pulling-nodes.md), bounded before it is used: the node's machine may be anybody's.
 * Unknown fields are ignored, so that a newer package can talk to an older Scrapdeck.
 */
export const PROTOCOL = 1

const Name = z.string().min(1).max(LISTED_MAX.nameCharacters)
const Count = z.number().int().min(0).max(1_000_000_000)
const RunName = z.object({ project: Name, jobid: Name })

/** Which session sends it. Anything from a former one is refused. */
export const Stamp = z.object({
  session: z.string().regex(/^[0-9a-f]{32}$/),
  epoch: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER)
})
export type Stamp = z.infer<typeof Stamp>

export const OpenMessage = z.object({
  protocol: z.number().int(),
  session: Stamp.shape.session,
  /** Of the journal on its disk. Another one has forgotten everything. */
  instance: z.string().regex(/^[0-9a-f]{32}$/),
  lastEpoch: z
    .number()
    .int()
    .min(0)
    .max(2 ** 52),
  /** Its Scrapyd just started; false: it was superseded, and only wants to know whether the other one is gone. */
  isTakeover: z.boolean(),
  /** For how long it remembers everything. */
  journalSeconds: Count,
  hostname: z.string().max(200),
  package: z.string().max(50),
  scrapyd: z.string().max(50),
  slots: z.number().int().min(1).max(10_000)
})
export type OpenMessage = z.infer<typeof OpenMessage>

/** As far as a Date goes: what is computed from it is shown to everybody. */
const Status = z.object({ pending: Count, running: Count, timeMs: z.number().min(0).max(8.64e15) })
export type PulledStatus = z.infer<typeof Status>

export const PollMessage = Stamp.extend({ acked: Count, waitSeconds: z.number().min(0).max(60), status: Status })

/** Maximum claims per request; the package sends no more. */
export const ClaimMessage = Stamp.extend({ runs: z.array(RunName).max(500) })

export const RefuseMessage = Stamp.extend(RunName.shape).extend({
  reason: z.enum(['unknown_version', 'bad_egg', 'other']).catch('other'),
  message: z.string().max(2_000)
})

const ListedRun = RunName.extend({
  spider: Name,
  pid: z.number().int().nullable(),
  startTime: z.string().max(100).nullable(),
  endTime: z.string().max(100).nullable(),
  exitCode: z.number().int().nullable(),
  exitSignal: z.string().max(50).nullable(),
  isAcked: z.boolean()
})
export type ListedRun = z.infer<typeof ListedRun>

/** The lists as they were when all commands up to `through` had been carried out. */
const Listed = z.array(ListedRun).max(LISTED_MAX.jobs)
export const ListsMessage = Stamp.extend({
  ...{ through: Count, status: Status },
  ...{ claiming: Listed, pending: Listed, running: Listed, finished: Listed }
})
export type PulledLists = z.infer<typeof ListsMessage>

export const AnswerMessage = Stamp.extend({
  id: Count,
  wasState: z.enum(['pending', 'running']).nullable().optional(),
  problem: z.string().max(2_000).optional()
})

/** Beside the bytes of a file. */
export const DataMessage = Stamp.extend({
  id: z.coerce.number().pipe(Count),
  offset: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  size: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  file: z.string().max(100).optional(),
  none: z.string().optional()
})

/** More than the package ever sends at once (FILE_BYTES_MAX in client.py). */
export const DATA_BYTES_MAX = 1024 * 1024
/** Lists of a node with more ends than it may ever have unacknowledged. */
export const MESSAGE_BYTES_MAX = 8 * 1024 * 1024
