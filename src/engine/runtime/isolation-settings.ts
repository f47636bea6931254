/** The user ids reserved for projects. The first is the id of the group that these users share. */
export interface UserRange {
  first: number
  last: number
}

export const ISOLATION_WAYS = ['off', 'auto', 'sandbox', 'users', 'if-possible'] as const

/**
 * `auto`: separate users if Scrapdeck runs as root, otherwise a sandbox. `if-possible`: like `auto`, but spiders run
 * even if isolation fails, and the overview then reports the failure. In all other modes except `off`, spiders never
 * run without isolation.
 */
export interface IsolationSettings {
  way: (typeof ISOLATION_WAYS)[number]
  users: UserRange
}

/**
 * Outside the ranges that Debian and systemd reserve (systemd.io/UIDS-GIDS), and within the range that containers map.
 */
export const DEFAULT_USERS: UserRange = { first: 60_706, last: 61_183 }

export const ISOLATION_OFF: IsolationSettings = { way: 'off', users: DEFAULT_USERS }

/** The highest id that has no special meaning on any system. */
const HIGHEST_ID = 2 ** 31 - 2

/** Parses `FIRST-LAST`, which must not include ids of system and login accounts. null: invalid. */
export function parseUserRange(text: string): UserRange | null {
  const [, first, last] = /^\s*(\d{1,10})\s*-\s*(\d{1,10})\s*$/.exec(text)?.map(Number) ?? []
  if (first === undefined || last === undefined) return null
  return first >= 10_000 && first < last && last <= HIGHEST_ID ? { first, last } : null
}
