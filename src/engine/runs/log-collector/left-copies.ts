import type { Attempt, AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import { type Message, say } from '../../../shared/texts/message.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import type { WantedBytes } from '../../runtime/byte-window.ts'
import type { Fleet, FleetNode } from '../../nodes/fleet.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Sweep } from '../../runtime/sweep.ts'
import type { AttemptReader, AttemptStore } from '../../storage/store.ts'

export interface LeftCopiesParts {
  store: Pick<AttemptReader, 'listAttempts' | 'findArchivedLog'> & Pick<AttemptStore, 'markLogArchived'>
  archive: Pick<LogArchivePort, 'copies' | 'keepCopied'>
  fleet: Pick<Fleet, 'get'>
  record: (attempt: Attempt, entry: { message: Message; evidence: Record<string, unknown> }) => Promise<unknown>
  clock: Clock
  logger: Logger
  mostBytes?: number
}

/** How long the copy of an ended run's log is left alone. A lost run can be found again. */
const STAYS_MS = 600_000
const WAITS_MS = 86_400_000
const MOST_BYTES = 256 * 1024 * 1024

/** Whether the copy is complete, is cut off because the node no longer has the rest, or can still grow. */
type Rest = 'whole' | { cutBecause: Message } | 'wait'

/**
 * Archives copied logs of runs that ended without an archived log. If the node of a lost run is gone, the copy is all
 * that is left. Deletes copies that are no longer needed, such as leftovers of a crash.
 */
export function sweepLeftCopies(parts: LeftCopiesParts): Sweep<{ jobId: JobId; number: AttemptNumber }> {
  const { store, archive, fleet, record, clock, logger, mostBytes = MOST_BYTES } = parts
  const beganAtMs = clock.nowMs()
  const find = async (jobId: JobId, number: AttemptNumber) =>
    (await store.listAttempts(jobId)).find((each) => each.number === number)
  const copiedBytesOf = async (jobId: JobId, number: AttemptNumber) =>
    (await archive.copies.readIfAny(jobId, number, { offset: 0, limitBytes: 0 }))?.sizeBytes ?? 0

  /** If a run was found again, an older and shorter version of its log may be in the archive. */
  async function isNeeded({ jobId, number, logArchived, logDeletedAtMs }: Attempt): Promise<boolean> {
    const archived = logArchived ? await store.findArchivedLog(jobId, number) : null
    const copiedBytes = await copiedBytesOf(jobId, number)
    return logDeletedAtMs === null && copiedBytes > (archived?.sizes?.rawBytes ?? 0)
  }

  async function keep(attempt: Attempt, signal: AbortSignal): Promise<boolean> {
    const { jobId, number, endedAtMs } = attempt
    const rest = await readRest(attempt, signal)
    if (rest === 'wait') return false
    const log = await archive.keepCopied(jobId, number, await store.findArchivedLog(jobId, number), signal)
    const now = await find(jobId, number)
    if (now?.state !== 'ended' || now.endedAtMs !== endedAtMs) return false
    if (log !== null) {
      await store.markLogArchived(jobId, number, log)
      const keptBytes = log.sizes?.rawBytes ?? 0
      if (rest !== 'whole') {
        const message = say('timeline.log_kept', { bytes: keptBytes, because: rest.cutBecause })
        await record(attempt, { message, evidence: { logKeptBytes: keptBytes } })
      }
    }
    await archive.copies.remove(jobId, number)
    return true
  }

  /** Copies the rest of the log from the node. The run may be alive, so the next sweep checks whether the log grew. */
  async function readRest(attempt: Attempt, signal: AbortSignal): Promise<Rest> {
    const { jobId, number } = attempt
    const node = fleet.get(attempt.nodeId)
    if (node === undefined) return { cutBecause: say('log_cut.node_removed') }
    const { name } = node.stored
    if (node.status.health !== 'up')
      return isSilent(attempt, node) ? { cutBecause: say('log_cut.node_silent', { node: name }) } : 'wait'
    const read = (range: WantedBytes) => node.client.readLog(attempt, range, signal)
    const before = await copiedBytesOf(jobId, number)
    const next = await read({ offset: before, limitBytes: 1 })
    if (next === null) return { cutBecause: say('log_cut.deleted', { node: name }) }
    if (next.sizeBytes < before) return { cutBecause: say('log_cut.shortened', { node: name }) }
    if (next.sizeBytes === before) return 'whole'
    const { copiedBytes } = await archive.copies.advance(jobId, number, read, { signal, maxBytes: mostBytes })
    return copiedBytes === before ? { cutBecause: say('log_cut.too_large') } : 'wait'
  }

  function isSilent({ endedAtMs }: Attempt, { status }: FleetNode): boolean {
    // After a restart, it is unknown when the node last responded.
    return clock.nowMs() - Math.max(endedAtMs ?? 0, status.lastSeenAtMs ?? beganAtMs) >= WAITS_MS
  }

  return new Sweep({
    clock,
    logger,
    list: () => archive.copies.list(),
    describe: ({ jobId }) => ({ jobId }),
    words: 'what was copied of a log could not be archived yet',
    async work({ jobId, number }, signal) {
      const attempt = await find(jobId, number)
      const isLeft = attempt?.state === 'ended' && clock.nowMs() - (attempt.endedAtMs ?? 0) >= STAYS_MS
      if (isLeft && (await isNeeded(attempt))) return keep(attempt, signal)
      if (isLeft || attempt === undefined) await archive.copies.remove(jobId, number)
      return isLeft || attempt === undefined
    }
  })
}
