import type { KeepPolicy } from '../../../shared/contract/index.ts'
import type { KeptItemsFile } from '../../model/records.ts'

/** A log or items file of a run. */
export interface RunFile {
  project: string
  spider: string
  name: string
  sizeBytes: number
  changedAtMs: number
  /** Absent: a file that a run on the local node wrote. */
  blobOf?: KeptItemsFile
}

const DAY_MS = 86_400_000

/**
 * Files of one project that are over its policy, oldest first; the newest of each spider always stays. `isOverTerm`: by
 * age, for which even flagged runs let them go.
 */
export function oldFiles(
  files: readonly RunFile[],
  { days, perSpider, bytes }: KeepPolicy,
  nowMs: number
): (RunFile & { isOverTerm: boolean })[] {
  const newestFirst = files.toSorted((one, other) => other.changedAtMs - one.changedAtMs)
  const ofSpider = new Map<string, number>()
  let total = 0
  const old = newestFirst.flatMap((file) => {
    const rank = (ofSpider.get(file.spider) ?? 0) + 1
    ofSpider.set(file.spider, rank)
    total += file.sizeBytes
    if (rank === 1 || file.changedAtMs >= nowMs - DAY_MS) return []
    const isOverTerm = days !== null && file.changedAtMs < nowMs - days * DAY_MS
    const isOver = isOverTerm || (perSpider !== null && rank > perSpider) || (bytes !== null && total > bytes)
    return isOver ? [{ ...file, isOverTerm }] : []
  })
  return old.reverse()
}
