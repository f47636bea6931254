const SHOWN = 3

/** ` Did you mean "quotes"?` for names close to the given one, otherwise an empty string. */
export function suggestNear(asked: string, known: Iterable<string>): string {
  const near = [...known]
    .map((name) => ({ name, distance: distanceBetween(asked.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(Math.min(asked.length, name.length) / 3)))
    .sort((one, other) => one.distance - other.distance || (one.name < other.name ? -1 : 1))
    .slice(0, SHOWN)
    .map(({ name }) => `"${name}"`)
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
}

/** The Levenshtein distance; a name that begins with the given one (3 letters or more) counts as one edit away. */
function distanceBetween(one: string, other: string): number {
  if (one.length >= 3 && other.startsWith(one)) return 1
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const change = previous[column - 1]! + (one[row - 1] === other[column - 1] ? 0 : 1)
      current.push(Math.min(change, previous[column]! + 1, current[column - 1]! + 1))
    }
    previous = current
  }
  return previous[other.length]!
}
