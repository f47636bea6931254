/**
 * Points in time are milliseconds since 1970-01-01 UTC, in names that end in `AtMs`. The names of durations end in
 * `Ms`.
 */

const DURATION_UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1]
] as const

/** `5 s`, `3 min`, `2 h`, `4 d`: one unit, rounded down. For ages and waits. */
export function formatAge(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / 1000))
  const [word, size] = DURATION_UNITS.find((unit) => seconds >= unit[1]) ?? ['s', 1]
  return `${Math.floor(seconds / size)} ${word}`
}

/** `1 min 59 s`, `2 d 3 h`: the two largest units, rounded up. For the rest of a wait. */
export function formatWait(durationMs: number): string {
  const seconds = Math.max(0, Math.ceil(durationMs / 1000))
  const unit = DURATION_UNITS[DURATION_UNITS.findIndex(([, size]) => seconds >= size) + 1]
  const step = unit?.[1] ?? 1
  return formatDuration(Math.ceil(seconds / step) * step)
}

/** `1 h 30 min`, `45 s`: exact to the second, in the largest units. For limits. */
export function formatDuration(seconds: number): string {
  let rest = seconds
  const parts = DURATION_UNITS.flatMap(([word, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? [] : [`${count} ${word}`]
  })
  return parts.join(' ') || '0 s'
}

export function formatRuntime(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / 1000))
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  return `${hours > 0 ? `${hours}:${twoDigits(minutes)}` : minutes}:${twoDigits(seconds % 60)}`
}

export const utcDay = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)

export const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

export const twoDigits = (value: number): string => String(value).padStart(2, '0')
