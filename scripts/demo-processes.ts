import fs from 'node:fs'
import path from 'node:path'
import { isAlive, type ProcessIdentity, readStartTime } from '../src/engine/runtime/process-identity.ts'
import { isWindows } from './setup/platform.mjs'

interface DemoProcess extends ProcessIdentity {
  name: string
}

/** The processes that a demo recorded and that are still running. */
export interface LivingDemo {
  /** The port of the demo's Scrapdeck. The demo's Scrapyds have the next ports. */
  port: number
  /** The demo's own process, or null if it was killed before it could stop its servers. */
  pid: number | null
  /** The demo's running servers. Each leads a process group that includes the server's spiders. */
  servers: readonly DemoProcess[]
}

const FILE = 'processes.json'

/**
 * Records the processes of one demo in its directory, so that the next demo can name what a killed demo left behind.
 */
export class DemoRecord {
  readonly #file: string
  readonly #port: number
  #demo: ProcessIdentity | null = null
  readonly #servers: DemoProcess[] = []

  constructor(directory: string, port: number) {
    this.#file = path.join(directory, FILE)
    this.#port = port
  }

  async begin(): Promise<void> {
    this.#demo = await identify(process.pid)
    this.#write()
  }

  async add(name: string, pid: number | null | undefined): Promise<void> {
    if (pid == null) return
    this.#servers.push({ name, ...(await identify(pid)) })
    this.#write()
  }

  #write(): void {
    fs.mkdirSync(path.dirname(this.#file), { recursive: true })
    fs.writeFileSync(this.#file, JSON.stringify({ port: this.#port, demo: this.#demo, servers: this.#servers }))
  }
}

async function identify(pid: number): Promise<ProcessIdentity> {
  return { pid, startTime: (await readStartTime(pid)) ?? '' }
}

export async function findLivingDemos(directory: string): Promise<LivingDemo[]> {
  const living: LivingDemo[] = []
  for (const name of fs.existsSync(directory) ? fs.readdirSync(directory) : []) {
    const record = readRecord(path.join(directory, name, FILE))
    if (record === null) continue
    const servers: DemoProcess[] = []
    for (const server of record.servers) if (await isAlive(server)) servers.push(server)
    const pid = (await isAlive(record.demo)) ? record.demo.pid : null
    if (pid !== null || servers.length > 0) living.push({ port: record.port, pid, servers })
  }
  return living
}

function readRecord(file: string): { port: number; demo: ProcessIdentity; servers: DemoProcess[] } | null {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch {
    // Not a demo's directory, or the demo was killed while it wrote this file. Then only the ports can show that it
    // runs.
    return null
  }
}

export function describeDemo({ port, pid, servers }: LivingDemo): string {
  if (pid !== null) {
    return `A demo is running on port ${port}. To stop it, press Ctrl-C in its terminal, or: ${stopCommand([pid])}`
  }
  const names = servers.map((server) => `${server.name} (process ${server.pid})`).join(', ')
  return `An earlier demo on port ${port} was killed before it could stop its servers. Still running: ${names}.
To stop them and their spiders: ${stopCommand(
    servers.map((server) => server.pid),
    'with their children'
  )}`
}

function stopCommand(pids: readonly number[], what: 'alone' | 'with their children' = 'alone'): string {
  if (isWindows) return `taskkill /F /T ${pids.map((pid) => `/PID ${pid}`).join(' ')}`
  return what === 'alone' ? `kill ${pids.join(' ')}` : `kill -- ${pids.map((pid) => `-${pid}`).join(' ')}`
}
