const counts = new Intl.NumberFormat('en')

/** `1,204`. */
export const formatCount = (value: number): string => counts.format(value)

/** `812 B`, `4.1 MB`: three digits at most, units of 1,000. */
export function formatBytes(sizeBytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = sizeBytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** `1 job`, `2 jobs`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`
