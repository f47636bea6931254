import type { EngineOptions } from '../engine/index.ts'
import type { ListenOptions } from '../server/listen.ts'
import type { ServeOptions } from './serve-options.ts'
import { isLoopback } from '../server/auth/host-rule.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'

export function engineOptionsOf(options: ServeOptions, workingDirectory: string) {
  return {
    dataDirectory: options.dataDirectory,
    postgres: options.postgres,
    s3: options.s3,
    blobsDirectory: options.blobsDirectory,
    cache: options.cache,
    secretKeyFile: options.secretKeyFile,
    encryption: options.encryption,
    credentials: options.credentials ?? undefined,
    localSlots: options.localSlots ?? undefined,
    configuredSlots: options.configuredSlots ?? undefined,
    directories: options.directories,
    jobsToKeep: options.jobsToKeep,
    crawlCacheSeconds: options.crawlCacheSeconds,
    audit: options.audit,
    cancelWaitsSeconds: options.cancelWaitsSeconds ?? undefined,
    settingsProjects: Object.fromEntries(
      Object.entries(options.settingsProjects).map(([project, settingsModule]) => [
        project,
        { settingsModule, path: [workingDirectory] }
      ])
    ),
    pythonPath: options.pythonPath ?? undefined,
    sshProgram: options.sshProgram ?? undefined,
    warmStarts: options.warmStarts,
    isolation: options.isolation,
    discovery: options.discovery,
    plugins: options.plugins,
    webhookNetworks: options.webhookNetworks,
    alertCommands: options.alertCommands,
    heartbeat: options.heartbeat,
    publicUrl: options.signIn.publicUrl,
    clusterCredentialDirectories: options.clusterCredentialDirectories,
    secretFiles: options.secretFiles,
    trustedEngines: options.trustedEngines,
    metricsPrefix: options.metrics.prefix
  } satisfies Partial<EngineOptions>
}

export function serverOptionsOf(options: ServeOptions) {
  return {
    dataDirectory: options.dataDirectory,
    trustedProxies: options.trustedProxies,
    signIn: options.signIn,
    redirectPort: options.redirectPort,
    plainHttpOn: plainHttpOn(options),
    metrics: options.metrics,
    rateLimits: options.rateLimits,
    connectionLimits: options.connectionLimits,
    bindAddress: options.bindAddress,
    port: options.port,
    unixSocketPath: options.unixSocketPath,
    allowedHosts: options.allowedHosts,
    scrapyd: options.scrapyd
  } satisfies Partial<ListenOptions>
}

type Transport = Pick<ServeOptions, 'bindAddress' | 'port' | 'tls' | 'behindProxy' | 'allowPlainHttp'>

/** The public address on which the service would serve plain HTTP, or null. Behind a proxy, the proxy handles TLS. */
export function plainHttpOn({ bindAddress, port, tls, behindProxy }: Omit<Transport, 'allowPlainHttp'>): string | null {
  return port === null || tls !== null || behindProxy || isLoopback(bindAddress) ? null : bindAddress
}

export function refusePlainHttp(options: Transport): void {
  const address = plainHttpOn(options)
  if (address === null || options.allowPlainHttp) return
  throw new ScrapdeckError('PLAIN_HTTP_REFUSED', sentence('cli.plain_http_refused', { address }))
}
