import { hostname } from 'node:os'
import type { Worker } from 'node:worker_threads'
import { serverOptionsOf, engineOptionsOf } from '../config/host-options.ts'
import type { ServeOptions } from '../config/serve-options.ts'
import {
  createEngine,
  type EngineOptions,
  joinEngines,
  type Mandate,
  openHostedNode,
  preloadEngine,
  startStoreThread
} from '../engine/index.ts'
import { systemClock } from '../engine/runtime/clock.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { systemRandom } from '../engine/runtime/random.ts'
import { createLeaderProxy } from '../server/leader-proxy.ts'
import { type RequestHandler, openFront } from '../server/front.ts'
import { openConnections } from '../server/connections.ts'
import { addressHere, listen, type Service } from '../server/listen.ts'
import { type EngineEndpoint, openEngineEndpoint } from '../server/nodes/engine-endpoint.ts'
import { recordService } from '../server/service-file.ts'
import { packagePaths, readPackageVersion } from './package-paths.ts'
import type { RunningService, ServiceParts } from './running-service.ts'

/** The time limit for closing an engine. After that, its process must end to free the engine's resources. */
const CLOSE_LIMIT_MS = 15_000

/** Serves with PostgreSQL, as the leader or by forwarding requests to the leader. Resolves when an engine leads. */
export async function serveTogether(
  options: ServeOptions & { postgres: NonNullable<ServeOptions['postgres']> },
  { logger, storeThread, certificate }: ServiceParts
): Promise<RunningService> {
  await using starting = new AsyncDisposableStack()
  process.on('unhandledRejection', (error) => surviveTheEndOfLeading(error, logger))
  const connections = openConnections(options)
  const front = await openFront({ ...options, certificate }, { handle: refuse, handleOnSocket: refuse }, connections)
  starting.defer(() => certificate?.stop())
  starting.defer(() => front.close())
  const engineOptions: EngineOptions = {
    ...engineOptionsOf(options, process.cwd()),
    host: 'service',
    resourcesDirectory: packagePaths.resourcesDirectory,
    logger,
    scrapdeckVersion: readPackageVersion()
  }
  let leading: { stop(): Promise<void>; service: Service } | null = null
  let nextThread: Worker | null = storeThread
  const scheme = certificate === null ? 'http' : 'https'
  const name = options.engineName ?? `${hostname()}:${front.port}`
  // Other engines cannot reach a Unix socket.
  const hasLocalNode = options.localSlots !== 0 && front.port !== 0
  const hosted = hasLocalNode ? await openHostedNode(engineOptions) : null
  let endpoint: EngineEndpoint | null = null
  // Close the hosted node only after this engine has stopped leading, because a leading engine uses it.
  starting.defer(async () => {
    await endpoint?.stop()
    await hosted?.close()
  })
  const membership = await joinEngines({
    postgres: options.postgres,
    dataDirectory: options.dataDirectory,
    secretKeyFile: options.secretKeyFile,
    encryption: options.encryption,
    credentials: options.credentials,
    blobs: blobsOf(options),
    clock: systemClock,
    random: systemRandom,
    logger,
    lead,
    follow,
    scrapdeckVersion: readPackageVersion(),
    hasLocalNode,
    name,
    certificate,
    addressOf: (seenAs) =>
      options.engineAddress ?? `${scheme}://${reachableFrom(options.bindAddress, seenAs)}:${front.port}`
  })
  starting.defer(() => membership.stop())
  const { bindAddress, allowedHosts, trustedProxies } = options
  const proxy = createLeaderProxy({
    membership,
    bindAddress,
    allowedHosts,
    trustedProxies,
    certificate,
    logger,
    vouchingProxies: options.signIn.proxy?.from ?? [],
    port: () => front.port
  })
  starting.defer(() => proxy.stop())
  if (hosted !== null) {
    endpoint = await openEngineEndpoint({ node: hosted, name, secret: membership.secret, logger })
    front.handleBefore(endpoint.isFor, endpoint.handle)
  }
  front.handleWith(proxy)
  const forgetService = await recordService(
    options.dataDirectory,
    addressHere(front.address, { ...options, certificate }),
    certificate
  )
  starting.defer(async () => forgetService())
  await membership.start()
  if (!membership.isLeading()) void preloadEngine()
  const running = starting.move()
  return {
    address: front.address,
    createLoginLink: () => leading?.service.createLoginLink() ?? null,
    loaded: Promise.resolve(),
    stop: () => running.disposeAsync(),
    isStopped: () => running.disposed
  }

  async function lead({ postgres, leadership, secretBox, credentials }: Mandate): Promise<void> {
    const thread = nextThread ?? startStoreThread()
    nextThread = null
    await using opening = new AsyncDisposableStack()
    const engine = await createEngine({
      ...engineOptions,
      postgres,
      leadership,
      secretBox,
      credentials,
      storeThread: thread
    })
    opening.defer(() => engine.stop())
    const service = await listen({
      ...serverOptionsOf(options),
      engine,
      certificate,
      front: Object.assign(front, { connections }),
      peerSecret: membership.secret,
      engineName: membership.name,
      uiDirectory: packagePaths.uiDirectory,
      docsDirectory: packagePaths.docsDirectory,
      logger
    })
    opening.defer(() => service.stop())
    await service.loaded
    const opened = opening.move()
    leading = { service, stop: () => opened.disposeAsync() }
  }

  async function follow(): Promise<void> {
    const former = leading
    leading = null
    front.handleWith(proxy)
    if (former === null) return
    const limit = systemClock.setTimer(CLOSE_LIMIT_MS, () => {
      logger.error({}, 'the engine that no longer leads could not be closed in time')
      process.exit(1)
    })
    await former.stop().catch((error: unknown) => logger.warn({ error }, 'the former leader did not close in order'))
    limit.cancel()
    nextThread = startStoreThread()
    nextThread.unref()
  }
}

/**
 * Work in progress fails when this engine loses its lease. The process must then continue as a follower. Every other
 * uncaught error still ends the process.
 */
function surviveTheEndOfLeading(error: unknown, logger: Logger): void {
  const { code } = error as { code?: unknown }
  if (code !== 'NOT_LEADER' && code !== 'STOPPING') throw error
  logger.warn({ error }, 'work was refused because this engine no longer leads')
}

const refuse: RequestHandler['handle'] = (_request, response) => {
  response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' })
  response.end('Scrapdeck is starting.\n')
}

/** Returns null if only a plugin, which is not loaded yet, can say where the blobs are. */
function blobsOf({ s3, blobsDirectory, plugins }: ServeOptions) {
  return s3 === null && blobsDirectory === null && plugins.length > 0 ? null : { s3, directory: blobsDirectory }
}

/** The host where others reach this engine: the address it listens on, or the address that the database sees. */
function reachableFrom(bindAddress: string, seenAs: string | null): string {
  const isAny = ['', '0.0.0.0', '::'].includes(bindAddress)
  const address = isAny ? (seenAs ?? '127.0.0.1') : bindAddress
  return address.includes(':') ? `[${address}]` : address
}
