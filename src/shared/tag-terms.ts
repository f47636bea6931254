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

/** Returns text that follows a noun: `tagged eu or us, not slow`. Empty if there are no terms. */
export function describeTags(terms: readonly string[]): string {
  const without = terms.filter((term) => term.startsWith('!') && !term.includes('|'))
  const others = terms.filter((term) => !without.includes(term))
  const asked = others.map((term) => describeTerm(term, others.length > 1)).join(' and ')
  const missing = without.map((term) => term.slice(1)).join(' or ')
  if (asked === '') return missing === '' ? '' : `not tagged ${missing}`
  return missing === '' ? `tagged ${asked}` : `tagged ${asked}, not ${missing}`
}

function describeTerm(term: string, isOneOfSeveral: boolean): string {
  const words = term
    .split('|')
    .map((part) => (part.startsWith('!') ? `not ${part.slice(1)}` : part))
    .join(' or ')
  return isOneOfSeveral && term.includes('|') ? `(${words})` : words
}
