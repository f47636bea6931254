import { setFlagsFromString } from 'node:v8'

/**
 * Call this before anything else in a long-running service. V8 lets garbage grow to a multiple of the live heap before
 * a full collection. Watching thousands of nodes creates objects that live for seconds and so reach the old generation.
 * --max-semi-space-size=16 does not help, because setting it from here leaves the young generation small.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=25')
  // While the engine first connects to thousands of nodes, requests live long, so V8 would start to allocate their
  // parts in the old generation. There, each part keeps its request alive until the next full collection. This would
  // account for half of all garbage.
  setFlagsFromString('--no-allocation-site-pretenuring')
}
