const NAME_MAX = 56

/**
 * The user name for this name at another service: letters, digits and `. _ @ + -`, everything else as `-`. Empty: no
 * part of it can be in a name.
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

/** The name, or the first of `name-2`, `name-3` … that is free: namesakes get separate accounts. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(name)) return name
  let number = 2
  while (isTaken(`${name}-${number}`)) number += 1
  return `${name}-${number}`
}
