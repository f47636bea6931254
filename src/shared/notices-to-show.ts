import type { AlertNotice } from './contract/index.ts'

const AT_ONCE_MAX = 4

/**
 * Returns the newest notice of each group. If there are too many, for example after a laptop wakes up, returns the
 * newest of these and a notice with the number of the rest.
 */
export function noticesToShow(notices: readonly AlertNotice[]): Omit<AlertNotice, 'id' | 'atMs'>[] {
  const newest = [...new Map(notices.toSorted(byTime).map((notice) => [notice.groupId, notice])).values()]
  if (newest.length <= AT_ONCE_MAX) return newest
  const shown = newest.toSorted(byTime).slice(-(AT_ONCE_MAX - 1))
  const others = newest.length - shown.length
  const isCritical = newest.some((notice) => notice.severity === 'critical' && !shown.includes(notice))
  return [
    {
      groupId: 'others',
      severity: isCritical ? 'critical' : 'warning',
      alertIds: [],
      retryJobIds: [],
      title: `${others} other messages about alerts`,
      body: 'Open the list of alerts to see them.'
    },
    ...shown
  ]
}

const byTime = (one: AlertNotice, other: AlertNotice): number => one.atMs - other.atMs
