import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readTestEnvironment } from '../../../../../scripts/setup/test-environment.mjs'
import { systemClock } from '../../../runtime/clock.ts'
import { freePort, ServerProcess } from '../../../testing/server-process.ts'
import { until } from '../../../testing/until.ts'

/** Returns why no server can be started here, or null if one can. */
export const whyNoRedis = (): string | null =>
  readTestEnvironment().redis?.program == null ? 'the test environment has no Redis' : null

export interface RedisServer {
  port: number
  url: string
  /** Kills the server as if its machine failed. Its data is lost. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Keeps its connections open but sends no responses. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

/** Starts a server without persistence. `settings` are command-line options, such as `--requirepass`. */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  const { program, libraries } = readTestEnvironment().redis!
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-redis-'))
  const port = await freePort()
  const env = libraries === null ? process.env : { ...process.env, LD_LIBRARY_PATH: libraries }
  const common = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', directory]
  const options = ['--port', String(port), ...common, ...settings]
  const server = new ServerProcess(program!, options, { env })

  async function start(): Promise<void> {
    server.start()
    await until('Redis', () => isListening(port), Boolean, 20_000)
  }
  await start()
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    start,
    kill: () => server.kill(),
    pause: () => void server.signal('SIGSTOP'),
    resume: () => void server.signal('SIGCONT'),
    async stop() {
      await server.kill()
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

export async function startSlowProxy(port: number): Promise<{ port: number; delayMs: number; stop(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const proxy = {
    port: 0,
    delayMs: 0,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
  }
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => socket.destroy()))
    client.on('data', (bytes) => upstream.write(bytes)).on('close', () => upstream.destroy())
    upstream
      .on('data', (bytes) => void systemClock.setTimer(proxy.delayMs, () => client.write(bytes)))
      .on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  proxy.port = (server.address() as AddressInfo).port
  return proxy
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => socket.end('PING\r\n'))
    socket.on('data', () => resolve(true))
    socket.on('error', () => resolve(false))
  })
}
