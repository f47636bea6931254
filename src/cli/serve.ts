import { hostname, networkInterfaces } from 'node:os'
import type { Worker } from 'node:worker_threads'
import pino, { type DestinationStream } from 'pino'
import { createEngine } from '../engine/index.ts'
import { systemClock } from '../engine/runtime/clock.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { CertificateFiles } from '../server/certificate-files.ts'
import { ensureSelfMade, namesForCertificate, selfMadeDirectory } from '../server/self-made-certificate.ts'
import { serverOptionsOf, engineOptionsOf, refusePlainHttp } from '../config/host-options.ts'
import type { ServeOptions } from '../config/serve-options.ts'
import { packagePaths, readPackageVersion } from './package-paths.ts'
import type { RunningService, ServiceParts } from './running-service.ts'
import { takeSystemdSocket } from './tell-systemd.ts'

interface ServeOutput {
  warnings: string[]
  asJson: boolean
  forPeople: boolean
  storeThread: Worker
}

/**
 * Runs until a signal arrives. Prints on standard output that the service is ready, the login link and, for people, the
 * data directory. Logs to standard error, as lines if that is a terminal or `forPeople` is true, otherwise as JSON.
 * With `asJson`, prints one object instead and logs as JSON. `storeThread` is already loading (see startStoreThread).
 */
export async function serve(
  options: ServeOptions,
  { warnings, asJson, forPeople, storeThread }: ServeOutput
): Promise<void> {
  const tellSystemd = takeSystemdSocket(process.env)
  const isReadable = !asJson && (forPeople || process.stderr.isTTY)
  const destination = isReadable ? await (await import('./readable-log.ts')).openReadableLog() : pino.destination(2)
  const logger = createLogger(options.logLevel ?? 'info', destination)
  for (const warning of warnings) logger.warn({}, warning)
  refusePlainHttp(options)
  const { port, postgres } = options
  const certificate = await openCertificate(options, logger)
  const parts = { logger, storeThread, certificate }
  const service =
    postgres === null
      ? await serveAlone(options, parts)
      : await (await import('./serve-together.ts')).serveTogether({ ...options, postgres }, parts)
  stopOnSignal(() => service.stop(), logger)
  await service.loaded.catch(async (error: unknown) => {
    await service.stop()
    throw error
  })
  if (service.isStopped()) return
  await tellSystemd(logger)

  if (asJson) {
    const link = port === null ? null : service.createLoginLink()
    process.stdout.write(`${JSON.stringify({ ready: true, address: service.address, link })}\n`)
    return
  }
  process.stdout.write(`Scrapdeck is ready on ${service.address}\n`)
  const link = port === null ? null : service.createLoginLink()
  if (link !== null) process.stdout.write(`Open ${link} in your browser (works once, for 10 minutes)\n`)
  else if (port !== null) {
    process.stdout.write(`Open ${service.address}/ui/ in your browser and log in: another engine leads\n`)
  }
  if (isReadable)
    process.stdout.write(`Data: ${options.dataDirectory}. Press Ctrl-C to stop; running spiders continue.\n`)
}

async function openCertificate(options: ServeOptions, logger: Logger): Promise<CertificateFiles | null> {
  const { tls } = options
  if (tls === null) return null
  const { clientAuthority } = tls
  const parts = { clock: systemClock, logger }
  if (tls.files !== 'self-made') return CertificateFiles.open({ ...tls.files, clientAuthority }, parts)
  const machine = hostname()
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address))
  const names = namesForCertificate({ ...options, machine, addresses })
  const made = { directory: selfMadeDirectory(options.dataDirectory), names, machine, ...parts }
  const path = await ensureSelfMade(made)
  const renew = async () => void (await ensureSelfMade(made))
  return CertificateFiles.open({ certificate: path, key: path, clientAuthority }, { ...parts, renew })
}

async function serveAlone(
  options: ServeOptions,
  { logger, storeThread, certificate }: ServiceParts
): Promise<RunningService> {
  // If the start fails, closes what was opened. Stops the engine even if the HTTP server does not close.
  await using starting = new AsyncDisposableStack()
  starting.defer(() => certificate?.stop())
  const opening = createEngine({
    ...engineOptionsOf(options, process.cwd()),
    host: 'service',
    storeThread,
    resourcesDirectory: packagePaths.resourcesDirectory,
    scrapdeckVersion: readPackageVersion(),
    logger
  })
  // Load the server while the engine waits for its data.
  const [engine, { listen }] = await Promise.all([opening, import('../server/listen.ts')])
  starting.defer(() => engine.stop())
  const service = await listen({
    ...serverOptionsOf(options),
    certificate,
    engine,
    uiDirectory: packagePaths.uiDirectory,
    docsDirectory: packagePaths.docsDirectory,
    logger
  })
  starting.defer(() => service.stop())
  const running = starting.move()
  return {
    address: service.address,
    createLoginLink: () => service.createLoginLink(),
    loaded: service.loaded,
    stop: () => running.disposeAsync(),
    isStopped: () => running.disposed
  }
}

/** The first signal stops the service cleanly, the second stops it immediately. */
function stopOnSignal(stop: () => Promise<void>, logger: Logger): void {
  let isStopping = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (isStopping) process.exit(1)
    isStopping = true
    logger.info({ signal }, 'Stopping')
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, 'The stop failed')
        process.exit(1)
      }
    )
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}

function createLogger(level: string, destination: DestinationStream): Logger {
  // Without this serializer, pino would log an Error as {}.
  return pino({ level, serializers: { error: pino.stdSerializers.err } }, destination)
}
