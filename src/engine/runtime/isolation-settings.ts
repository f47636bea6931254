/** Reserved user ids for the users of projects; the first is the id of their common group. */
export interface UserRange {
  first: number
  last: number
}

export const ISOLATION_WAYS = ['off', 'auto', 'sandbox', 'users', 'if-possible'] as const

/**
 * How spiders are isolated (`keep_spiders_apart`). `auto`: users if Scrapdeck runs as root, otherwise a sandbox.
 * `if-possible`: the same, or no isolation, which the overview reports as a problem. With all other ways, no spider
 * runs if the isolation is not possible.
 */
export interface IsolationSettings {
  way: (typeof ISOLATION_WAYS)[number]
  users: UserRange
}

/** Neither Debian's nor systemd's ranges (UIDS-GIDS of systemd), and within what containers map. */
export const DEFAULT_USERS: UserRange = { first: 60_706, last: 61_183 }

export const ISOLATION_OFF: IsolationSettings = { way: 'off', users: DEFAULT_USERS }

/** The highest id that is no special value on any system. */
const HIGHEST_ID = 2 ** 31 - 2

/** `FIRST-LAST`, without the ids of accounts that systems and people have; null: it is none. */
export function parseUserRange(text: string): UserRange | null {
  const [, first, last] = /^\s*(\d{1,10})\s*-\s*(\d{1,10})\s*$/.exec(text)?.map(Number) ?? []
  if (first === undefined || last === undefined) return null
  return first >= 10_000 && first < last && last <= HIGHEST_ID ? { first, last } : null
}
