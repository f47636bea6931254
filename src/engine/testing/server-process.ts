import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { type AddressInfo, createServer } from 'node:net'

/** The process of a real server that tests start, kill as if its machine had failed, and start again. */
export class ServerProcess {
  readonly #command: () => ChildProcess
  #process: ChildProcess | null = null

  constructor(program: string, parameters: readonly string[], options: SpawnOptions = {}) {
    this.#command = () => spawn(program, parameters, { ...options, stdio: 'ignore' })
  }

  start(): void {
    this.#process = this.#command()
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal)
  }

  async kill(): Promise<void> {
    const ending = this.#process
    this.#process = null
    if (ending === null || ending.exitCode !== null) return
    const exited = new Promise((resolve) => ending.once('exit', resolve))
    ending.kill('SIGKILL')
    await exited
  }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
