const NAME_MAX = 56

/**
 * The user name for somebody whom another service calls so: letters, digits and `. _ @ + -`, everything else as `-`.
 * Empty: nothing of it can be part of a name.
 */
export function nameFrom(text: string): string {
  const plain = text
    .slice(0, 1_000)
    .normalize('NFKC')
    .replaceAll(/[^\p{L}\p{N}._@+-]+/gu, '-')
  // Not half of a character that takes two.
  const short = plain.slice(0, NAME_MAX).replace(/\p{Cs}$/u, '')
  return short.replaceAll(/^-+|-+$/g, '')
}

/** The name, or the first of `name-2`, `name-3` … that is free: nobody gets the account of a namesake. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(name)) return name
  let number = 2
  while (isTaken(`${name}-${number}`)) number += 1
  return `${name}-${number}`
}
