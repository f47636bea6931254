/**
 * A node must meet every term. It meets a term through any of the term's parts: `eu` requires the tag, `!slow` forbids
 * it, and `eu|us` requires one of the two.
 */
export function meetsTags(terms: readonly string[], tags: readonly string[]): boolean {
  return terms.every((term) => meetsTerm(term, tags))
}

function meetsTerm(term: string, tags: readonly string[]): boolean {
  return term.split('|').some((part) => (part.startsWith('!') ? !tags.includes(part.slice(1)) : tags.includes(part)))
}

/** The words of `describeTags`. The UI has them in its language (texts/ui/schedules.ts). */
export const tagWords = {
  tagged: (asked: string, missing: string) => `tagged ${asked}${missing === '' ? '' : `, not ${missing}`}`,
  notTagged: (missing: string) => `not tagged ${missing}`,
  allTags: (terms: readonly string[]) => terms.join(' and '),
  anyTag: (tags: readonly string[]) => tags.join(' or '),
  withoutTag: (tag: string) => `not ${tag}`
}

/** Returns text that follows a noun: `tagged eu or us, not slow`. Empty if there are no terms. */
export function describeTags(terms: readonly string[], words = tagWords): string {
  const without = terms.filter((term) => term.startsWith('!') && !term.includes('|'))
  const others = terms.filter((term) => !without.includes(term))
  const asked = words.allTags(others.map((term) => describeTerm(term, others.length > 1, words)))
  const missing = words.anyTag(without.map((term) => term.slice(1)))
  if (asked === '') return missing === '' ? '' : words.notTagged(missing)
  return words.tagged(asked, missing)
}

function describeTerm(term: string, isOneOfSeveral: boolean, words: typeof tagWords): string {
  const parts = term.split('|').map((part) => (part.startsWith('!') ? words.withoutTag(part.slice(1)) : part))
  return isOneOfSeveral && term.includes('|') ? `(${words.anyTag(parts)})` : words.anyTag(parts)
}
