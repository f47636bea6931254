/**
 * Loaded into the service with `node --import`. For every connection to the socket ATTACK_WATCH, writes one line of
 * JSON with the event-loop delay since the last connection and since the start. A probe from outside would also
 * measure the load that the attacker puts on the machine.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

export interface LoopDelay {
  /** Excludes the time during which the thread waited for a core. */
  maxMs: number
  p99Ms: number
  samples: number
}

const RESOLUTION_MS = 1
const TICK_MS = 5
const path = process.env['ATTACK_WATCH']
// Only in the main thread, because threads inherit `--import`.
if (isMainThread && path !== undefined) {
  delete process.env['ATTACK_WATCH']
  delete process.env['NODE_OPTIONS']
  const sinceStart = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  sinceStart.enable()
  let maxMs = 0
  let before = { atMs: performance.now(), waitedMs: readWaitedMs() }
  setInterval(() => {
    const now = { atMs: performance.now(), waitedMs: readWaitedMs() }
    maxMs = Math.max(maxMs, now.atMs - before.atMs - TICK_MS - (now.waitedMs - before.waitedMs))
    before = now
  }, TICK_MS).unref()
  const inMs = (ns: number) => Math.max(0, ns / 1e6 - RESOLUTION_MS)
  createServer((socket) => {
    socket.on('error', () => socket.destroy())
    const delay: LoopDelay = {
      maxMs,
      p99Ms: inMs(sinceStart.percentile(99)),
      samples: sinceStart.count
    }
    socket.end(`${JSON.stringify(delay)}\n`)
    maxMs = 0
  })
    .listen(path)
    .unref()
}

/**
 * Returns how long, in ms, the main thread could not run because other processes used the cores (proc(5), schedstat).
 */
function readWaitedMs(): number {
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6
}
