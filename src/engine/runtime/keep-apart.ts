/** Reserved user ids for the users of projects; the first is the id of their common group. */
export interface UserRange {
  first: number
  last: number
}

export const WAYS_APART = ['off', 'auto', 'sandbox', 'users', 'if-possible'] as const

/**
 * What an operator may choose. `auto`: users if Scrapdeck runs as root, otherwise a sandbox. `if-possible`: the same,
 * or not at all, which is a problem in the overview; with all others, what cannot be done lets no spider run.
 */
export interface KeepApart {
  way: (typeof WAYS_APART)[number]
  users: UserRange
}

/** Neither Debian's nor systemd's ranges (UIDS-GIDS of systemd), and within what containers map. */
export const DEFAULT_USERS: UserRange = { first: 60_706, last: 61_183 }

export const NOT_KEPT_APART: KeepApart = { way: 'off', users: DEFAULT_USERS }

/** The highest id that is no special value on any system. */
const HIGHEST_ID = 2 ** 31 - 2

/** `FIRST-LAST`, without the ids of accounts that systems and people have; null: it is none. */
export function parseUserRange(text: string): UserRange | null {
  const [, first, last] = /^\s*(\d{1,10})\s*-\s*(\d{1,10})\s*$/.exec(text)?.map(Number) ?? []
  if (first === undefined || last === undefined) return null
  return first >= 10_000 && first < last && last <= HIGHEST_ID ? { first, last } : null
}
