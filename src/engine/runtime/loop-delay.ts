import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Nodes measure at this resolution, so it is also what an idle loop shows: it is taken off again. */
const RESOLUTION_MS = 10

export interface LoopDelay {
  /** The 99th percentile of the event loop's delay since the last call, in milliseconds; 0: nothing was measured. */
  sampleP99Ms(): number
  stop(): void
}

export function watchLoopDelay(): LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  return {
    sampleP99Ms() {
      const p99Ms = histogram.count === 0 ? 0 : Math.max(0, histogram.percentile(99) / 1e6 - RESOLUTION_MS)
      histogram.reset()
      return p99Ms
    },
    stop: () => void histogram.disable()
  }
}
