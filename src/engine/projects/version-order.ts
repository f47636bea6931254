import { sanitiseVersion } from '../../shared/ids.ts'

const PEP_440 = new RegExp(
  String.raw`^\s*v?(?:(\d+)!)?(\d+(?:[._]\d+)*)(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?(\d*))?` +
    String.raw`(?:-(\d+)|[-_.]?(?:post|rev|r)[-_.]?(\d*))?(?:[-_.]?dev[-_.]?(\d*))?\s*$`,
  'i'
)
const RELEASE_NUMBERS_MAX = 20
const PRE_RELEASES: Record<string, number> = { alpha: 0, a: 0, beta: 1, b: 1, preview: 2, pre: 2, c: 2, rc: 2 }

/**
 * Compares versions by name if all are PEP 440 versions (`1.9`, `1.10rc1`, also in Scrapyd's spelling, `1_10`). Returns
 * null if one is not, such as a git hash. Scrapyd 1.6 gives the same order if each version is a single number.
 * Otherwise, Scrapyd compares text (scrapyd-protocol.md, 4.2).
 */
export function versionOrder(versions: string[]): ((one: string, other: string) => number) | null {
  const keys = new Map<string, bigint[]>()
  for (const version of versions) {
    const key = sortKey(version)
    if (key === null) return null
    keys.set(version, key)
  }
  return (one, other) => compare(keys.get(one)!, keys.get(other)!)
}

/** Epoch, release (missing numbers are 0), pre-release, post-release, development release; null: not PEP 440. */
function sortKey(version: string): bigint[] | null {
  const match = PEP_440.exec(version)
  if (match === null) return null
  const [, epoch, release, preName, preNumber, implicitPost, postNumber, devNumber] = match
  const isPost = implicitPost !== undefined || postNumber !== undefined
  const number = (text: string | undefined) => BigInt(text === undefined || text === '' ? 0 : text)
  // `1.dev1` < `1a1` < `1` < `1.post1` (PEP 440, summary of permitted suffixes).
  const pre =
    preName !== undefined
      ? [BigInt(PRE_RELEASES[preName.toLowerCase()]!), number(preNumber)]
      : devNumber !== undefined && !isPost
        ? [-1n, 0n]
        : [3n, 0n]
  const post = isPost ? number(implicitPost ?? postNumber) : -1n
  const dev = devNumber === undefined ? [1n, 0n] : [0n, number(devNumber)]
  const numbers = release!.split(/[._]/).map((text) => BigInt(text))
  if (numbers.length > RELEASE_NUMBERS_MAX) return null
  while (numbers.length < RELEASE_NUMBERS_MAX) numbers.push(0n)
  return [number(epoch), ...numbers, ...pre, post, ...dev]
}

function compare(one: bigint[], other: bigint[]): number {
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const [left, right] = [one[index] ?? 0n, other[index] ?? 0n]
    if (left !== right) return left < right ? -1 : 1
  }
  return 0
}

/**
 * Why nodes can disagree about the latest version, by the version that some of them would choose; empty if all
 * agree. Scrapyd 1.2 and 1.3 compare the runs of digits and letters in a stored name (distutils' LooseVersion) and
 * fail if a number is compared with letters. Scrapyd 1.4 and later compare by PEP 440 if every stored name is valid,
 * else as text (scrapyd-protocol.md, 4.2). This affects only clients that call a node directly.
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

/** Whether one of these nodes can run a Scrapyd before 1.4 and another one 1.4 or later. null (unknown) is ignored. */
export function canDisagree(releases: readonly (string | null)[]): boolean {
  const older = releases.filter((one) => one !== null && /^1\.[23]\b/.test(one))
  const newer = releases.filter((one) => one !== null && /^1\.[4-9]|1\.4$/.test(one))
  const either = older.filter((one) => newer.includes(one)).length
  return older.length > 0 && newer.length > 0 && older.length + newer.length - either > 1
}

type Order = (one: string, other: string) => number

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

/** Stored names have no dots, so a name with several numbers (`1_10`) is not a PEP 440 version. */
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

/**
 * Like LooseVersion, splits a name at dots and around runs of digits and of lower-case letters. Only digits are
 * numbers.
 */
function looseParts(stem: string): (bigint | string)[] {
  return stem
    .split(/(\d+|[a-z]+|\.)/)
    .filter((part) => part !== '' && part !== '.')
    .map((part) => (/^\d+$/.test(part) ? BigInt(part) : part))
}
