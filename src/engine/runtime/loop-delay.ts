import { monitorEventLoopDelay, performance } from 'node:perf_hooks'

/** Resolution of the measurement. An idle loop shows this delay too, so it is subtracted. */
const RESOLUTION_MS = 10

export interface LoopDelay {
  /** 99th percentile of the event loop delay since the last call, in milliseconds. 0 if nothing was measured. */
  sampleP99Ms(): number
  /** The share of the time since the last call in which the event loop was busy, 0 to 1. */
  sampleShare(): number
  stop(): void
}

export function watchLoopDelay(): LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  let before = performance.eventLoopUtilization()
  return {
    sampleP99Ms() {
      const p99Ms = histogram.count === 0 ? 0 : Math.max(0, histogram.percentile(99) / 1e6 - RESOLUTION_MS)
      histogram.reset()
      return p99Ms
    },
    sampleShare() {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, before)
      before = now
      return utilization
    },
    stop: () => void histogram.disable()
  }
}
