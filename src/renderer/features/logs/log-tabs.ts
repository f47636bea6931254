import type { JobId } from '../../../shared/contract/index.ts'
import { shortId } from '../../../shared/ids.ts'
import type { LogsSearch } from '../../state/search.ts'
import type { LineRange } from '../../terminal/log-view.ts'

export interface LogTabs {
  readonly open: JobId[]
  /** Always one of the open logs. null: none is open. */
  readonly front: JobId | null
  readonly beside: JobId[]
  readonly isMerged: boolean
}

/** The maximum number of logs beside the front one. If there were more, each would be too narrow to read. */
export const MOST_BESIDE = 3

/** The tabs in the address, corrected: every visible log is open, and an open log is in front. */
export function tabsOf({ jobs, job, beside, merged }: LogsSearch): LogTabs {
  const open = [...new Set([...(jobs ?? []), ...(beside ?? []), ...(job === undefined ? [] : [job])])]
  const front = job ?? open[0] ?? null
  const others = [...new Set(beside ?? [])].filter((id) => id !== front).slice(0, MOST_BESIDE)
  return { open, front, beside: others, isMerged: (merged ?? false) && others.length > 0 }
}

/** Returns the address's search parameters, without the marked lines, which belong to only one log. */
export function searchOf({ open, front, beside, isMerged }: LogTabs): LogsSearch {
  return {
    jobs: open,
    job: front ?? undefined,
    beside: beside.length === 0 ? undefined : beside,
    merged: isMerged || undefined,
    line: undefined
  }
}

/**
 * Adds the node to identical names, or the job's short id if the nodes are also identical. Color alone does not
 * distinguish them.
 */
export function distinctNames(logs: readonly { id: JobId; name: string; node?: string | null }[]): string[] {
  return logs.map(({ id, name, node }) => {
    const shared = logs.filter((other) => other.id !== id && other.name === name)
    if (shared.length === 0) return name
    const isOwnNode = node != null && shared.every((other) => other.node !== node)
    return `${name} ${isOwnNode ? node : shortId(id)}`
  })
}

export function openTab(tabs: LogTabs, id: JobId): LogTabs {
  return { ...tabs, open: withOne(tabs.open, id), front: id, beside: tabs.beside.filter((each) => each !== id) }
}

export function split(tabs: LogTabs, id: JobId): LogTabs {
  if (tabs.front === null || tabs.front === id) return openTab(tabs, id)
  return { ...tabs, open: withOne(tabs.open, id), beside: withOne(tabs.beside, id).slice(-MOST_BESIDE) }
}

/** Closes a log's pane. The log stays open in its tab. */
export function closePane(tabs: LogTabs, id: JobId): LogTabs {
  const beside = tabs.beside.filter((each) => each !== id)
  const isMerged = tabs.isMerged && beside.length > 0
  if (id !== tabs.front || beside.length === 0) return { ...tabs, beside, isMerged }
  return { ...tabs, front: beside[0]!, beside: beside.slice(1), isMerged: tabs.isMerged && beside.length > 1 }
}

/** Closes a tab. Its right-hand neighbor comes to the front, or the left-hand one if there is none. */
export function closeTab(tabs: LogTabs, id: JobId): LogTabs {
  const at = tabs.open.indexOf(id)
  const open = tabs.open.filter((each) => each !== id)
  const left = closePane(tabs, id)
  if (left.front !== id) return { ...left, open }
  return { ...left, open, front: open[at] ?? open[at - 1] ?? null }
}

const withOne = (ids: readonly JobId[], id: JobId): JobId[] => (ids.includes(id) ? [...ids] : [...ids, id])

/** Parses `120` or `120-135`. undefined: no lines. */
export function parseLines(text: string | undefined): LineRange | undefined {
  const [from, to = from] = (text ?? '').split('-').map(Number)
  if (from === undefined || to === undefined || !(from >= 1) || !(to >= from)) return undefined
  return { from, to }
}

export const formatLines = ({ from, to }: LineRange): string => (from === to ? String(from) : `${from}-${to}`)
