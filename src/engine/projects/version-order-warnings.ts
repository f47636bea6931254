import { sanitiseVersion } from '../../shared/ids.ts'
import { versionOrder } from './version-order.ts'

/**
 * Why nodes may disagree on the latest version of a project, keyed by the version that some of them would choose; empty
 * if all agree. Scrapyd 1.2 and 1.3 compare the runs of digits and letters of a stored name (distutils' LooseVersion)
 * and fail if a number meets letters; 1.4 and later compare by PEP 440 if every stored name is valid, else as text
 * (scrapyd-protocol.md, 4.2). Stored names have no dots: `1.10` is `1_10`. Scrapdeck always names the version, so this
 * only matters to clients that call a node directly.
 */
export function orderWarnings(versions: string[], latest: string | null): Map<string, string> {
  const warnings = new Map<string, string>()
  if (versions.length < 2 || latest === null) return warnings
  const older = latestOf(versions, looseOrder)
  const newer = latestOf(versions, storedOrder)
  if (older === newer) return warnings
  const olderWords =
    older === null
      ? 'Scrapyd 1.2 and 1.3 cannot order these versions and fail'
      : `Scrapyd 1.2 and 1.3 would treat ${older} as the latest`
  const text =
    `${olderWords}, 1.4 and later would treat ${newer} as the latest. Scrapdeck always names the version (jobs without one get ${latest}); ` +
    'clients that send jobs to a node without a version get the latest version of that node. Timestamps such as 20261119T181000 sort the same way everywhere.'
  for (const version of [older, newer, latest]) if (version !== null) warnings.set(version, text)
  return warnings
}

/** Whether one of these nodes may be a Scrapyd of before 1.4 and another a later one; null: not known. */
export function canDisagree(releases: readonly (string | null)[]): boolean {
  const older = releases.filter((one) => one !== null && /^1\.[23]\b/.test(one))
  const newer = releases.filter((one) => one !== null && /^1\.[4-9]|1\.4$/.test(one))
  // One that may be either is not both.
  const either = older.filter((one) => newer.includes(one)).length
  return older.length > 0 && newer.length > 0 && older.length + newer.length - either > 1
}

type Order = (one: string, other: string) => number

/** null: this Scrapyd fails on these names. */
function latestOf(versions: string[], orderOf: (stems: string[]) => Order): string | null {
  const stems = versions.map((version) => ({ version, stem: sanitiseVersion(version) }))
  const order = orderOf(stems.map(({ stem }) => stem))
  try {
    return stems.sort((one, other) => order(one.stem, other.stem)).at(-1)!.version
  } catch (error) {
    if (error instanceof NotComparable) return null
    throw error
  }
}

class NotComparable extends Error {}

const byLetters: Order = (one, other) => (one < other ? -1 : one > other ? 1 : 0)

/** Stored names have no dots, so one with several numbers (`1_10`) is not a PEP 440 version. */
function storedOrder(stems: string[]): Order {
  const isSingle = stems.every((stem) => !/^v?\d+_\d/i.test(stem))
  return (isSingle ? versionOrder(stems) : null) ?? byLetters
}

function looseOrder(): Order {
  return (one, other) => {
    const [left, right] = [looseParts(one), looseParts(other)]
    for (let index = 0; index < Math.max(left.length, right.length); index++) {
      const [mine, theirs] = [left[index], right[index]]
      if (mine === undefined || theirs === undefined) return mine === undefined ? -1 : 1
      if (mine === theirs) continue
      if (typeof mine !== typeof theirs) throw new NotComparable()
      return mine < theirs ? -1 : 1
    }
    return 0
  }
}

/** Like LooseVersion: runs of digits are numbers, runs of lower-case letters and the rest are text, dots separate. */
function looseParts(stem: string): (bigint | string)[] {
  return stem
    .split(/(\d+|[a-z]+|\.)/)
    .filter((part) => part !== '' && part !== '.')
    .map((part) => (/^\d+$/.test(part) ? BigInt(part) : part))
}
