const SHOWN = 3
const LONGEST_NAME = 100
const CANDIDATES_MAX = 1_000
const EDITS_MAX = 5

/** Returns ` Did you mean "quotes"?` if known names are close to the given name, otherwise an empty string. */
export function suggestNear(asked: string, known: Iterable<string>): string {
  if (asked.length > LONGEST_NAME) return ''
  const wanted = asked.toLowerCase()
  const found: { name: string; distance: number }[] = []
  let candidates = 0
  for (const name of known) {
    candidates += 1
    if (candidates > CANDIDATES_MAX) break
    if (name.length > LONGEST_NAME) continue
    const limit = Math.max(1, Math.min(EDITS_MAX, Math.floor(Math.min(asked.length, name.length) / 3)))
    const other = name.toLowerCase()
    // A name that starts with the given name counts as one edit away.
    const distance = wanted.length >= 3 && other.startsWith(wanted) ? 1 : distanceWithin(wanted, other, limit)
    if (distance !== null) found.push({ name, distance })
  }
  const near = found
    .sort((one, other) => one.distance - other.distance || (one.name < other.name ? -1 : 1))
    .slice(0, SHOWN)
    .map(({ name }) => `"${name}"`)
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
}

/** The Levenshtein distance, or null if it is above the limit. Computes only diagonals that can stay within it. */
export function distanceWithin(one: string, other: string, limit: number): number | null {
  if (Math.abs(one.length - other.length) > limit) return null
  const outside = limit + 1
  let previous = Array.from({ length: other.length + 1 }, (_, column) => Math.min(column, outside))
  for (let row = 1; row <= one.length; row++) {
    const first = Math.max(1, row - limit)
    const last = Math.min(other.length, row + limit)
    const current = new Array<number>(other.length + 1).fill(outside)
    current[0] = Math.min(row, outside)
    let least = current[0]
    for (let column = first; column <= last; column++) {
      const change = previous[column - 1]! + (one[row - 1] === other[column - 1] ? 0 : 1)
      current[column] = Math.min(change, previous[column]! + 1, current[column - 1]! + 1)
      least = Math.min(least, current[column]!)
    }
    if (least > limit) return null
    previous = current
  }
  const distance = previous[other.length]!
  return distance > limit ? null : distance
}
