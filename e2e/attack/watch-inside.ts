/**
 * Loaded into the service with `node --import`: answers every connection to the socket ATTACK_WATCH with the event-loop
 * delay since the last answer and with the delay since the start, as one line of JSON. Measured inside, because a probe
 * from outside would also measure the attacker's own load on the machine.
 */
import { createServer } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/** Delay of the service's event loop, in ms. */
export interface LoopDelay {
  maxMs: number
  /** Since the start of the service. */
  p99Ms: number
  samples: number
}

const RESOLUTION_MS = 1
const path = process.env['ATTACK_WATCH']
// Threads inherit --import.
if (isMainThread && path !== undefined) {
  // The service's children must not listen there as well.
  delete process.env['ATTACK_WATCH']
  delete process.env['NODE_OPTIONS']
  const sinceLast = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  const sinceStart = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  sinceLast.enable()
  sinceStart.enable()
  const inMs = (ns: number) => Math.max(0, ns / 1e6 - RESOLUTION_MS)
  createServer((socket) => {
    socket.on('error', () => socket.destroy())
    const delay: LoopDelay = {
      maxMs: inMs(sinceLast.max),
      p99Ms: inMs(sinceStart.percentile(99)),
      samples: sinceStart.count
    }
    socket.end(`${JSON.stringify(delay)}\n`)
    sinceLast.reset()
  })
    .listen(path)
    .unref()
}
