/** Instants are numbers: milliseconds since 1970-01-01 UTC, in names that end in `AtMs`. Durations end in `Ms`. */

/** `5 s`, `3 min`, `2 h`, `4 d`: one unit, rounded down, for ages and waits. */
export function formatAge(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** `0:05`, `12:08`, `1:02:03`: a running time, with seconds. */
export function formatRuntime(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / 1000))
  const two = (value: number) => String(value).padStart(2, '0')
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`
}
