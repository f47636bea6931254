/** Whether an engine of this version is older or newer than the app; builds of one release are the same. */
export function compareVersions(engine: string, app: string): 'same' | 'older' | 'newer' {
  const [theirs, ours] = [partsOf(engine), partsOf(app)]
  for (const [index, part] of theirs.entries()) {
    if (part !== ours[index]) return part < ours[index]! ? 'older' : 'newer'
  }
  return 'same'
}

/** Major, minor, patch; anything unreadable is 0. */
function partsOf(version: string): number[] {
  const [, ...parts] = /^v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?/.exec(version) ?? []
  return [0, 1, 2].map((index) => Number(parts[index] ?? 0))
}
