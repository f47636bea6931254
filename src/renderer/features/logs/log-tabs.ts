import type { JobId } from '../../../shared/contract/index.ts'
import type { LogsSearch } from '../../state/search.ts'

/** The open logs, and the one in front: always one of them, or null if none is open. */
export interface LogTabs {
  readonly open: JobId[]
  readonly front: JobId | null
}

/** The address, corrected: the log in front is open, and one of the open ones is in front. */
export function tabsOf({ jobs, job }: LogsSearch): LogTabs {
  const open = [...new Set([...(jobs ?? []), ...(job === undefined ? [] : [job])])]
  return { open, front: job ?? open[0] ?? null }
}

export function openTab(tabs: LogTabs, id: JobId): LogTabs {
  return { open: tabs.open.includes(id) ? tabs.open : [...tabs.open, id], front: id }
}

/** The right-hand neighbour comes to the front, otherwise the left-hand one. */
export function closeTab(tabs: LogTabs, id: JobId): LogTabs {
  const at = tabs.open.indexOf(id)
  const open = tabs.open.filter((each) => each !== id)
  if (id !== tabs.front) return { open, front: tabs.front }
  return { open, front: open[at] ?? open[at - 1] ?? null }
}
