/** `Tue 24 Nov, 03:00` */
export const minuteWords = (atMs: number): string =>
  new Date(atMs)
    .toLocaleString('en-GB', { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })
    .replace(/^(\w+),/, '$1')
