import type { Problem } from '../../../shared/contract/index.ts'
import { type Message, say } from '../../../shared/texts/message.ts'
import type { StorageState } from '../../maintenance/retention/retention.ts'
import { problem } from './problem.ts'

const GB = 1_000_000_000
const DAY_MS = 86_400_000
const UNMANAGED_BYTES = 5 * GB

/** Warns before the disk is full or the budget is used up, while there is time to choose what to delete. */
export function storageProblems(
  { disk, totalBytes, budgetBytes, isPolicySet, encryption }: StorageState,
  nowMs: number
): Problem[] {
  const found: Problem[] = []
  const add = (id: string, severity: Problem['severity'], title: Message, text: Message) =>
    found.push(problem({ id: `storage:${id}`, severity, title, text, mend: 'open_storage' }))
  if (disk !== null) {
    const { freeBytes, fullAtMs } = disk
    const low = howLow(disk)
    const leftMs = fullAtMs === null ? null : Math.max(0, fullAtMs - nowMs)
    if (low !== null) {
      const text = say('problem.disk_full', { freeBytes, totalBytes: disk.totalBytes, isPolicySet })
      add('disk', low, say('problem_title.disk_full'), text)
    } else if (leftMs !== null && leftMs < DAY_MS) {
      const text = say('problem.disk_fills', { freeBytes, leftMs, isPolicySet })
      add('disk', 'warning', say('problem_title.disk_fills'), text)
    }
  }
  if (budgetBytes !== null && totalBytes > budgetBytes * 0.9) {
    const isOver = totalBytes > budgetBytes
    const text = say('problem.budget_used', { usedBytes: totalBytes, budgetBytes, isPolicySet })
    add('budget', isOver ? 'error' : 'warning', say('problem_title.budget_used', { isOver }), text)
  }
  if (encryption?.problem != null) {
    const { text: why, files } = encryption.problem
    const text = say('problem.not_encrypted', { files, keyId: encryption.keyId, why })
    add('encryption', 'warning', say('problem_title.not_encrypted'), text)
  }
  if (!isPolicySet && totalBytes > UNMANAGED_BYTES)
    add('policy', 'warning', say('problem_title.no_policy'), say('problem.no_policy', { bytes: totalBytes }))
  return found
}

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
