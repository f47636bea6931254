import { setFlagsFromString } from 'node:v8'

/**
 * For services that run for months; call it before anything else. V8 lets garbage grow to a multiple of the live heap
 * before a full collection. Watching thousands of nodes creates objects that live for seconds and therefore reach the
 * old generation (also with --max-semi-space-size=16, which cannot be set from here, the young one stays small). A
 * long-running service has the CPU time to collect earlier.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=25')
  // While thousands of nodes are being connected for the first time, requests live long, and V8 would allocate their
  // parts in the old generation from then on. There, each part keeps its whole request alive until the next full
  // collection, which accounts for half of all garbage.
  setFlagsFromString('--no-allocation-site-pretenuring')
}
