import { setFlagsFromString } from 'node:v8'

/**
 * Call this before anything else in a service that runs for months. V8 lets garbage grow to a multiple of the live
 * heap before a full collection. Watching thousands of nodes creates objects that live for seconds and so reach the
 * old generation. (--max-semi-space-size=16 does not help, because the young generation stays small if the flag is
 * set from here.) A long-running service has the CPU time to collect earlier.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=25')
  // While the engine connects thousands of nodes for the first time, requests live long, and V8 would allocate
  // their parts in the old generation from then on. There, each part keeps its whole request alive until the next
  // full collection. Such requests make up half of all garbage.
  setFlagsFromString('--no-allocation-site-pretenuring')
}
