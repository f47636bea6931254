import { type RouterClient, createRouterClient } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import type { MessagePortMain } from 'electron'
import type { Logger } from 'pino'
import { serverOptionsOf, engineOptionsOf } from '../config/host-options.ts'
import type { ResolvedOptions } from '../config/serve-options.ts'
import { createEngine } from '../engine/index.ts'
import type { EngineRouter, RouterContext } from '../engine/api/router/router.ts'
import type { SecretBox } from '../engine/runtime/secret-box.ts'
import { type ListenOptions, type Service, listen } from '../server/listen.ts'
import { refuseBadTrees } from '../shared/tree-bounds.ts'
import { OWNER } from '../engine/access/principal.ts'
import { createWireErrorInterceptor } from '../shared/wire-errors.ts'

interface EngineHostOptions {
  settings: ResolvedOptions
  /** The app's own directory. Relative paths in the settings start here. */
  userData: string
  resourcesDirectory: string
  uiDirectory: string
  docsDirectory: string
  scrapdeckVersion: string
  secretBox: SecretBox
  logger: Logger
}

/** The engine as seen by the shell. Only this file knows that it runs in the main process, not in a utilityProcess. */
export interface EngineHost {
  client: RouterClient<EngineRouter>
  /** Serves the contract on one end of a MessageChannelMain until the other end closes. */
  connect(port: MessagePortMain): void
  localRunningCount(): Promise<number>
  stopLocalSpiders(): Promise<void>
  /** Spiders of the local node continue. Can be called twice. */
  stop(): Promise<void>
}

// The ports to try if the configured port is in use. 6801 to 6809 are left to Scrapyds on this machine, such as the
// demo's.
const OTHER_PORTS = Array.from({ length: 90 }, (_, index) => 6810 + index)

/** Starts the engine and its HTTP server, so that scrapyd-deploy, curl and browsers also work with the desktop app. */
export async function startEngineHost(options: EngineHostOptions): Promise<EngineHost> {
  const { uiDirectory, docsDirectory, userData, settings, logger, ...engineOptions } = options
  for (const warning of settings.warnings) logger.warn(warning)
  // If the start fails, closes what was opened. Stops the engine even if the HTTP server does not close.
  await using starting = new AsyncDisposableStack()
  const engine = await createEngine({
    ...engineOptions,
    ...engineOptionsOf(settings.options, userData),
    host: 'desktop',
    logger
  })
  starting.defer(() => engine.stop())
  const server = { ...serverOptionsOf(settings.options), engine, uiDirectory, docsDirectory, logger }
  const { port } = server
  const isExact = settings.options.isPortNamed || port === null
  const service = await (isExact ? listen(server) : listenOnFreePort({ ...server, port }))
  starting.defer(() => service.stop())
  const router = await engine.router()
  await service.loaded
  const handler = new RPCHandler(router, {
    clientInterceptors: [
      createWireErrorInterceptor((error) => logger.error({ err: error }, 'A call of the contract failed')),
      refuseBadTrees
    ]
  })
  // Only our own windows have a port. Programs use HTTP.
  const context: RouterContext = {
    principal: OWNER,
    source: 'ui',
    logOutEverywhere: () => service.logOutEverywhere()
  }
  const running = starting.move()
  let stopped: Promise<void> | null = null
  return {
    client: createRouterClient(router, { context }),
    connect(port) {
      handler.upgrade(port, { context })
      port.start()
    },
    localRunningCount: async () => engine.localRunningCount(),
    stopLocalSpiders: () => engine.stopLocalSpiders(),
    stop: () => (stopped ??= running.disposeAsync())
  }
}

/** If the port is in use, for example by a Scrapyd, uses one of the next ports, which are easy to guess. */
async function listenOnFreePort(options: ListenOptions & { port: number }): Promise<Service> {
  for (const port of [options.port, ...OTHER_PORTS]) {
    try {
      return await listen({ ...options, port })
    } catch (error) {
      const { cause } = error as { cause?: NodeJS.ErrnoException }
      if (cause?.code !== 'EADDRINUSE') throw error
    }
  }
  return listen({ ...options, port: 0 })
}
