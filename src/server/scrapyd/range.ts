/**
 * Parses one byte range (RFC 9110, 14): `start` up to but not including `stop`. null: no range, send everything. For
 * several ranges and other units everything is sent too, which the RFC allows.
 */
export function parseRange(
  header: string | undefined,
  sizeBytes: number
): { start: number; stop: number } | 'unsatisfiable' | null {
  const match =
    header === undefined ? null : /^\s*bytes\s*=[\s,]*(\d{0,15})-(\d{0,15})[\s,]*$/.exec(header.slice(0, 200))
  if (match === null) return null
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return null
  if (first === '') {
    const count = Math.min(Number(last), sizeBytes)
    return count === 0 ? 'unsatisfiable' : { start: sizeBytes - count, stop: sizeBytes }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  if (start >= sizeBytes) return 'unsatisfiable'
  return { start, stop: last === '' ? sizeBytes : Math.min(Number(last) + 1, sizeBytes) }
}
