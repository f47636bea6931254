/** `3 nodes · 24 slots · 1 with problems`: skips what is unknown or not worth mentioning. */
export const joinFacts = (...facts: readonly (string | false | null | undefined)[]): string =>
  facts.filter(Boolean).join(' · ')
