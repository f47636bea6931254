import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface SimulatedFleet {
  urls: string[]
  onPost(listener: (post: { atMs: number; jobid: string }) => void): void
  onEnd(listener: (end: { atMs: number; jobid: string }) => void): void
  stop(): void
}

export interface SimulatedFleetOptions {
  nodes: number
  /** One number for all nodes, or a list assigned in rotation. */
  slots: number | number[]
  /** How long a run without an argument `ms` takes: fixed, or uniform between two numbers. */
  jobMs: number | [number, number]
  pollMs?: number
  /** Projects whose version 1 is on every node from the start. */
  projects?: string[]
  /** The log rate of each running spider. By default, the log is complete immediately. */
  logBytesPerSecond?: number
  report?: boolean
  reportEnds?: boolean
}

export async function startSimulatedFleet(options: SimulatedFleetOptions): Promise<SimulatedFleet> {
  const { nodes, slots, jobMs, pollMs = 0, projects = [], logBytesPerSecond = 0 } = options
  const parameters = [
    ['--nodes', String(nodes)],
    ['--slots', String(slots)],
    ['--job-ms', typeof jobMs === 'number' ? String(jobMs) : jobMs.join('-')],
    ['--poll-ms', String(pollMs)],
    ['--projects', projects.join(',')],
    ['--log-bytes-per-s', String(logBytesPerSecond)],
    options.report === true ? ['--report'] : [],
    options.reportEnds === true ? ['--report-ends'] : []
  ].flat()
  const child: ChildProcess = fork(`${import.meta.dirname}/simulated-fleet.ts`, parameters, {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc']
  })
  const listeners: Record<string, ((event: { atMs: number; jobid: string }) => void)[]> = { POST: [], ENDED: [] }
  const { promise: port, resolve, reject } = Promise.withResolvers<string>()
  child.once('exit', (code) => reject(new Error(`the simulated fleet ended with ${code}`)))
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const event = /^(POST|ENDED) (\S+) (\S+)$/.exec(line)
    if (event === null) return resolve(line)
    for (const listener of listeners[event[1]!]!) listener({ atMs: Number(event[2]), jobid: event[3]! })
  })
  const base = `http://127.0.0.1:${await port}`
  return {
    urls: Array.from({ length: nodes }, (_, index) => `${base}/n${index}/`),
    onPost: (listener) => void listeners['POST']!.push(listener),
    onEnd: (listener) => void listeners['ENDED']!.push(listener),
    stop: () => child.kill()
  }
}
