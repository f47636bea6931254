const REMEMBERED_MAX = 1000
/** An IPv6 address with a zone, or the query of a poller. */
const LONGEST_TEXT = 100

/** Caches the results of `find`, for texts with few distinct values. Callers must not change a result. */
export function remember<T>(find: (text: string) => T): (text: string) => T {
  const found = new Map<string, T>()
  return (text) => {
    let one = found.get(text)
    if (one === undefined) {
      if (text.length > LONGEST_TEXT) return find(text)
      const own = copyOf(text)
      one = find(own)
      if (found.size >= REMEMBERED_MAX) found.clear()
      found.set(own, one)
    }
    return one
  }
}

/** A substring keeps the whole text in memory: an address, a header of 15 KB. */
const copyOf = (text: string): string => JSON.parse(JSON.stringify(text)) as string
