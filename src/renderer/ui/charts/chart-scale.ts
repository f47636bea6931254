export interface Point {
  readonly atMs: number
  readonly value: number
}

/** Three to five values from 0 to at least `peak`. The step is a power of two for memory, otherwise 1, 2, 5, 10 … */
export function valueTicks(peak: number, isBinary: boolean): number[] {
  // Values near zero must look near zero.
  const top = Math.max(peak, 10)
  const least = top / 3
  const step = isBinary ? 2 ** Math.ceil(Math.log2(least)) : roundStep(least)
  const ticks = [0]
  while ((ticks.at(-1) as number) < top) ticks.push(ticks.length * step)
  return ticks
}

function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return ([1, 2, 5].find((factor) => factor * power >= least * 0.999_999) ?? 10) * power
}

const TIME_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400]

/** Returns round times since the start, with at most `count` of them within the span. */
export function timeTicks(fromMs: number, untilMs: number, startedAtMs: number, count: number): number[] {
  const leastS = (untilMs - fromMs) / 1000 / count
  const stepS = TIME_STEPS_S.find((step) => step >= leastS) ?? Math.ceil(leastS / 86_400) * 86_400
  const stepMs = stepS * 1000
  const ticks: number[] = []
  for (
    let sinceMs = Math.ceil((fromMs - startedAtMs) / stepMs) * stepMs;
    startedAtMs + sinceMs <= untilMs;
    sinceMs += stepMs
  )
    ticks.push(startedAtMs + sinceMs)
  return ticks
}

/** Limits the number of points. Keeps the highest point of each group, so that no peak is lost. */
export function thinOut(points: readonly Point[], most: number): readonly Point[] {
  const size = Math.ceil(points.length / most)
  if (size <= 1) return points
  const kept: Point[] = []
  for (let at = 0; at < points.length; at += size) {
    kept.push(points.slice(at, at + size).reduce((high, point) => (point.value > high.value ? point : high)))
  }
  return kept
}

export function nearestIndex(points: readonly Point[], atMs: number): number {
  let best = 0
  for (const [index, point] of points.entries())
    if (Math.abs(point.atMs - atMs) <= Math.abs((points[best] as Point).atMs - atMs)) best = index
  return best
}

export function stepTo(key: string, from: number, last: number): number | null {
  const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[key]
  return to === undefined ? null : Math.min(last, Math.max(0, to))
}
