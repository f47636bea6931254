/**
 * `*` matches any string, even an empty string; null matches every name. The time is at most proportional to the
 * product of both lengths.
 */
export function matchesGlob(pattern: string | null, name: string): boolean {
  if (pattern === null) return true
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop()
  if (last === undefined) return pattern === name
  if (!name.startsWith(first) || name.length < first.length + last.length) return false
  let from = first.length
  for (const piece of others) {
    const found = name.indexOf(piece, from)
    if (found < 0) return false
    from = found + piece.length
  }
  return name.length - last.length >= from && name.endsWith(last)
}
