import type { AlertNotice } from './contract/index.ts'

/** More notices at once would cover the screen. */
const AT_ONCE_MAX = 4

/**
 * After a laptop has slept, several notices may be due at once: shows the newest of each group; if these are too many,
 * the last few and the number of others. Pure.
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
