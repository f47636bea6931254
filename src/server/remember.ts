const REMEMBERED_MAX = 1000
/** The maximum length of a cached string: enough for an IPv6 address with a zone, or a poller's query. */
const LONGEST_TEXT = 100

/** Caches the results of `find`. Meant for strings with few distinct values. Callers must not modify a result. */
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

/** Without a copy, a short part of a string would keep the whole string in memory, such as a header of 15 KB. */
const copyOf = (text: string): string => JSON.parse(JSON.stringify(text)) as string
