/** `3 nodes · 24 slots · 1 with problems`: of what is known, or worth a word. */
export const joinFacts = (...facts: readonly (string | false | null | undefined)[]): string =>
  facts.filter(Boolean).join(' · ')
