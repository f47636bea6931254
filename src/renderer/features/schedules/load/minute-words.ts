import { formatTime, formatWeekday, localZone } from '../../../ui/moment.ts'

/** `Tue 24 Nov, 03:00`, with the year if it is not this one. */
export const minuteWords = (atMs: number): string =>
  `${formatWeekday(atMs, Date.now(), localZone())}, ${formatTime(atMs, localZone())}`
