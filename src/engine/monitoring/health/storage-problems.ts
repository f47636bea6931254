import type { Problem } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import type { StorageState } from '../../maintenance/retention/retention.ts'
import { UNRELATED } from './unrelated.ts'

const GB = 1_000_000_000
const DAY_MS = 86_400_000
/** From this size, a missing policy is reported. */
const UNMANAGED_BYTES = 5 * GB

/** Warns before the disk is full or the budget used up: while there is time to choose what to delete. Pure. */
export function storageProblems(
  { disk, totalBytes, budgetBytes, isPolicySet, encryption }: StorageState,
  nowMs: number
): Problem[] {
  const found: Problem[] = []
  const add = (id: string, severity: Problem['severity'], title: string, text: string) =>
    found.push({ ...UNRELATED, id: `storage:${id}`, severity, title, text, mend: 'open_storage' })
  const advice = isPolicySet ? 'Shorten the retention, or free space' : 'Set a retention policy, or free space'
  if (disk !== null) {
    const low = howLow(disk)
    const leftMs = disk.fullAtMs === null ? null : Math.max(0, disk.fullAtMs - nowMs)
    if (low !== null) {
      const rest = `${gigabytes(disk.freeBytes)} of ${gigabytes(disk.totalBytes)} are free in the data directory`
      add('disk', low, 'The disk is almost full', `${rest}. ${advice}`)
    } else if (leftMs !== null && leftMs < DAY_MS) {
      const rest = `${gigabytes(disk.freeBytes)} are free; at the current rate the disk is full in about ${formatAge(leftMs)}`
      add('disk', 'warning', 'The disk will be full within a day', `${rest}. ${advice}`)
    }
  }
  if (budgetBytes !== null && totalBytes > budgetBytes * 0.9) {
    const used = `${gigabytes(totalBytes)} of the budget of ${gigabytes(budgetBytes)} are used`
    const isOver = totalBytes > budgetBytes
    add(
      'budget',
      isOver ? 'error' : 'warning',
      `The disk budget is ${isOver ? '' : 'almost '}used up`,
      `${used}. ${advice}`
    )
  }
  if (encryption?.problem != null) {
    const { text: why, files } = encryption.problem
    const text = `${files === 1 ? 'A stored file' : `${files} stored files`} could not be encrypted with the key ${encryption.keyId} yet: ${why} Keep the earlier keys`
    add('encryption', 'warning', 'Not all stored files are encrypted with the newest key', text)
  }
  if (!isPolicySet && totalBytes > UNMANAGED_BYTES) {
    const text = `Scrapdeck's data takes ${gigabytes(totalBytes)}, and nothing is ever deleted. Set a retention policy`
    add('policy', 'warning', 'No retention policy is set', text)
  }
  return found
}

/** null: there is enough. Pure. */
export function howLow({
  totalBytes,
  freeBytes
}: {
  totalBytes: number
  freeBytes: number
}): Problem['severity'] | null {
  if (freeBytes < Math.min(totalBytes / 50, GB)) return 'error'
  return freeBytes < Math.min(totalBytes / 10, 10 * GB) ? 'warning' : null
}

export const gigabytes = (bytes: number) => `${(bytes / GB).toFixed(bytes < 10 * GB ? 1 : 0)} GB`
