import { setFlagsFromString } from 'node:v8'

/**
 * V8 lets garbage grow to a multiple of what is alive before it collects it all. What watching thousands of nodes
 * leaves lives for seconds, so it all gets there (with --max-semi-space-size=16, which cannot be set from here, the
 * rest stays small too): a service that runs for months has the processor time to collect it earlier.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=25')
}
