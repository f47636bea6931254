import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface SimulatedFleet {
  /** Addresses of the nodes, as an operator would add them. */
  urls: string[]
  /** The next `POST` lines, in order of arrival. */
  onPost(listener: (post: { atMs: number; jobid: string }) => void): void
  stop(): void
}

/** Simulated Scrapyds in a second process (simulated-fleet.ts). */
export async function startSimulatedFleet(options: {
  nodes: number
  slots: number
  jobMs: number
  report?: boolean
}): Promise<SimulatedFleet> {
  const { nodes, slots, jobMs, report = false } = options
  const parameters = ['--nodes', String(nodes), '--slots', String(slots), '--job-ms', String(jobMs)]
  const child: ChildProcess = fork(
    `${import.meta.dirname}/simulated-fleet.ts`,
    report ? [...parameters, '--report'] : parameters,
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc']
    }
  )
  const listeners: ((post: { atMs: number; jobid: string }) => void)[] = []
  const { promise: port, resolve, reject } = Promise.withResolvers<string>()
  child.once('exit', (code) => reject(new Error(`the simulated fleet ended with ${code}`)))
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const post = /^POST (\S+) (\S+)$/.exec(line)
    if (post === null) return resolve(line)
    for (const listener of listeners) listener({ atMs: Number(post[1]), jobid: post[2]! })
  })
  const base = `http://127.0.0.1:${await port}`
  return {
    urls: Array.from({ length: nodes }, (_, index) => `${base}/n${index}/`),
    onPost: (listener) => void listeners.push(listener),
    stop: () => child.kill()
  }
}
