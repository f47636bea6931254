import type { Engine } from '../engine/index.ts'
import { type Clock, systemClock } from '../engine/runtime/clock.ts'
import { type AppOptions, createApp } from './app.ts'
import { type Connections, openConnections } from './connections.ts'
import { type Front, type FrontOptions, openFront } from './front.ts'
import { recordService } from './service-file.ts'

export interface Service {
  /** The address for programs and browsers on this machine: `http://127.0.0.1:6800`, or `unix:PATH` without TCP. */
  address: string
  /** The port that redirects plain HTTP to HTTPS, or null if there is none. */
  redirectPort: number | null
  createLoginLink(): string
  /** Ends all browser sessions and their streams, and revokes unused login links. Returns the number of sessions. */
  logOutEverywhere(): Promise<number>
  /** Resolves when all endpoints are loaded. Until then, requests to the contract wait. Rejects if loading fails. */
  loaded: Promise<void>
  /** Rejects new requests and waits for open requests, not for streams. The engine continues. Can be called twice. */
  stop(): Promise<void>
}

export interface ListenOptions extends Omit<AppOptions, 'engine' | 'port' | 'clock' | 'connections'>, FrontOptions {
  engine: AppOptions['engine'] & Pick<Engine, 'setAddress' | 'setCertificate'>
  /** Sockets that are already open and stay open after a stop. If absent, the service opens and closes its own. */
  front?: Front & { connections: Connections }
  /** The public address, if the service uses plain HTTP there. The engine reports this as a problem. */
  plainHttpOn?: string | null
  clock?: Clock
}

/** How long a stop waits for open requests before it cuts them off. */
const STOP_LIMIT_MS = 5_000

/**
 * How long to wait after the start before loading the contract. Loading blocks the thread, so the service first
 * responds to early requests.
 */
const LOAD_CONTRACT_AFTER_MS = 20

/** Starts the HTTP server of an engine, and sets the engine's address. Rejects if the port is not available. */
export async function listen(options: ListenOptions): Promise<Service> {
  const clock = options.clock ?? systemClock
  const connections = options.front?.connections ?? openConnections(options)
  const app = createApp({ ...options, connections, clock, port: () => front?.port ?? options.port ?? 0 })
  const { fastify, createLoginPath, logOutEverywhere, loadContract } = app
  let front: Front | undefined = options.front
  try {
    await fastify.ready()
    front ??= await openFront(options, app, connections)
  } catch (error) {
    await fastify.close()
    throw error
  }
  options.front?.handleWith(app)
  const { address } = front
  options.engine.setAddress(address, options.plainHttpOn ?? null)
  options.engine.setCertificate(options.certificate ?? null)
  const forgetService = await recordService(options.dataDirectory, addressHere(address, options), options.certificate)

  const loaded = Promise.withResolvers<void>()
  const idle = setTimeout(() => loaded.resolve(loadContract()), LOAD_CONTRACT_AFTER_MS)
  // If the caller opened the sockets, they stay open for its next handler.
  const { close, closeAllConnections } = options.front === undefined ? front : KEPT_OPEN
  let stopping: Promise<void> | null = null
  return {
    address,
    redirectPort: front.redirectPort,
    createLoginLink: () => `${address}${createLoginPath()}`,
    logOutEverywhere,
    loaded: loaded.promise,
    stop() {
      stopping ??= (async () => {
        clearTimeout(idle)
        forgetService()
        const limit = clock.setTimer(STOP_LIMIT_MS, () => closeAllConnections())
        const closed = close()
        await fastify.close()
        await closed
        limit.cancel()
      })()
      return stopping
    }
  }
}

/** If clients must present a certificate, programs on this machine use the Unix socket, which requires none. */
export function addressHere(
  address: string,
  { certificate, unixSocketPath = null }: Pick<ListenOptions, 'certificate' | 'unixSocketPath'>
): string {
  return certificate?.asksClients === true && unixSocketPath !== null ? `unix:${unixSocketPath}` : address
}

const KEPT_OPEN = { close: async () => {}, closeAllConnections: () => {} }
