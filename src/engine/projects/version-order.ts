const PEP_440 = new RegExp(
  String.raw`^\s*v?(?:(\d+)!)?(\d+(?:[._]\d+)*)(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?(\d*))?` +
    String.raw`(?:-(\d+)|[-_.]?(?:post|rev|r)[-_.]?(\d*))?(?:[-_.]?dev[-_.]?(\d*))?\s*$`,
  'i'
)
const RELEASE_NUMBERS_MAX = 20
const PRE_RELEASES: Record<string, number> = { alpha: 0, a: 0, beta: 1, b: 1, preview: 2, pre: 2, c: 2, rc: 2 }

/**
 * Compares the versions of a project by name, if all are PEP 440 versions (timestamps, `1.9`, `1.10rc1`, also in
 * Scrapyd's spelling, `1_10`); null if one is not (a git hash): then only the upload time counts. Scrapyd 1.6 agrees if
 * every version is a single number, and otherwise compares as text (scrapyd-protocol.md, 4.2).
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
