import type { AddressInfo } from 'node:net'
import type { Engine } from '../engine/index.ts'
import { type Clock, systemClock } from '../engine/runtime/clock.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { createApp } from './app.ts'

export interface Service {
  /** `http://127.0.0.1:6800`: where a program or a browser on this machine reaches it. */
  address: string
  /** A link that logs one browser in, once, for ten minutes. */
  createLoginLink(): string
  /** Refuses new requests, waits for those under way (not for event streams). The engine is not stopped. May be called twice. */
  stop(): Promise<void>
}

export interface ListenOptions {
  engine: Pick<Engine, 'router' | 'scrapyd' | 'credentials' | 'health' | 'setAddress'>
  dataDirectory: string
  uiDirectory: string
  bindAddress: string
  /** 0: any free port. */
  port: number
  allowedHosts: string[]
  logger: Logger
  clock?: Clock
}

/** Requests that are still not answered then are cut off: a stop has an end. */
const STOP_LIMIT_MS = 5_000

/** Opens the HTTP door of an engine and tells the engine its address. Rejects when the port cannot be had. */
export async function listen(options: ListenOptions): Promise<Service> {
  const clock = options.clock ?? systemClock
  let port = options.port
  const { fastify, createLoginPath } = createApp({ ...options, clock, port: () => port })
  try {
    await fastify.listen({ host: options.bindAddress, port: options.port, listenTextResolver: () => '' })
  } catch (error) {
    await fastify.close()
    throw describeListenError(error, options)
  }
  port = (fastify.server.address() as AddressInfo).port
  const address = `http://${reachableHost(options.bindAddress)}:${port}`
  options.engine.setAddress(address)

  let stopping: Promise<void> | null = null
  return {
    address,
    createLoginLink: () => `${address}${createLoginPath()}`,
    stop() {
      stopping ??= (async () => {
        const limit = clock.setTimer(STOP_LIMIT_MS, () => fastify.server.closeAllConnections())
        await fastify.close()
        limit.cancel()
      })()
      return stopping
    }
  }
}

/** On all interfaces, this machine reaches it by the loopback address. */
function reachableHost(bindAddress: string): string {
  if (bindAddress === '0.0.0.0' || bindAddress === '') return '127.0.0.1'
  if (bindAddress === '::') return '[::1]'
  return bindAddress.includes(':') ? `[${bindAddress}]` : bindAddress
}

function describeListenError(error: unknown, { bindAddress, port }: ListenOptions): Error {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    return new Error(
      `Port ${port} of ${bindAddress} is in use by another program. Stop it, or choose another with --port.`,
      { cause: error }
    )
  }
  if (code === 'EACCES') {
    return new Error(`Port ${port} of ${bindAddress} is not allowed to this user. Choose one above 1023 with --port.`, {
      cause: error
    })
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new Error(`${bindAddress} is not an address of this machine. Correct --bind.`, { cause: error })
  }
  return error as Error
}
