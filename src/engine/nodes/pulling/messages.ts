import { z } from 'zod'
import { LISTED_MAX } from '../list-limits.ts'

/**
 * The messages of pulling nodes (docs/pulling-nodes.md), bounded because we cannot trust the node's machine.
 * Unknown fields are ignored, so that a newer package can use an older Scrapdeck.
 */
export const PROTOCOL = 1

const Name = z.string().min(1).max(LISTED_MAX.nameCharacters)
const Count = z.number().int().min(0).max(1_000_000_000)
const RunName = z.object({ project: Name, jobid: Name })

/** The sender's session. Messages from an earlier session are refused. */
export const Stamp = z.object({
  session: z.string().regex(/^[0-9a-f]{32}$/),
  epoch: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER)
})
export type Stamp = z.infer<typeof Stamp>

export const OpenMessage = z.object({
  protocol: z.number().int(),
  session: Stamp.shape.session,
  /** Identifies the journal on the node's disk. If it changes, the node started a new journal and remembers nothing. */
  instance: z.string().regex(/^[0-9a-f]{32}$/),
  lastEpoch: z
    .number()
    .int()
    .min(0)
    .max(2 ** 52),
  /** false: another node took over this node's session, and this message only checks whether the other node is gone. */
  isTakeover: z.boolean(),
  /** How far back the node's journal reaches. */
  journalSeconds: Count,
  hostname: z.string().max(200),
  package: z.string().max(50),
  scrapyd: z.string().max(50),
  slots: z.number().int().min(1).max(10_000)
})
export type OpenMessage = z.infer<typeof OpenMessage>

/** `timeMs` has the bounds of a Date, because we display times that are computed from it. */
const Status = z.object({ pending: Count, running: Count, timeMs: z.number().min(0).max(8.64e15) })
export type PulledStatus = z.infer<typeof Status>

export const PollMessage = Stamp.extend({ acked: Count, waitSeconds: z.number().min(0).max(60), status: Status })

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

const Listed = z.array(ListedRun).max(LISTED_MAX.jobs)
export const ListsMessage = Stamp.extend({
  /** The node listed its runs after it carried out all commands up to this number. */
  through: Count,
  status: Status,
  claiming: Listed,
  pending: Listed,
  running: Listed,
  finished: Listed
})
export type PulledLists = z.infer<typeof ListsMessage>

export const AnswerMessage = Stamp.extend({
  id: Count,
  wasState: z.enum(['pending', 'running']).nullable().optional(),
  problem: z.string().max(2_000).optional()
})

export const DataMessage = Stamp.extend({
  id: z.coerce.number().pipe(Count),
  offset: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  size: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  file: z.string().max(100).optional(),
  none: z.string().optional()
})

/** The maximum size of uploaded data: more than the package sends in one request (FILE_BYTES_MAX in client.py). */
export const DATA_BYTES_MAX = 1024 * 1024
/**
 * The maximum size of a message: enough for the lists of a node with the maximum number of unacknowledged ended
 * runs.
 */
export const MESSAGE_BYTES_MAX = 8 * 1024 * 1024
