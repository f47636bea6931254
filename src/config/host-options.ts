import type { EngineOptions } from '../engine/index.ts'
import type { ListenOptions } from '../server/listen.ts'
import { plainHttpOn } from './plain-http.ts'
import type { ServeOptions } from './serve-options.ts'

/** The engine's options, for every host. Projects without an egg are imported from `workingDirectory`. */
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
    keepApart: options.keepApart,
    discovery: options.discovery,
    plugins: options.plugins,
    webhookNetworks: options.webhookNetworks,
    alertCommands: options.alertCommands,
    lifeSignal: options.lifeSignal,
    publicUrl: options.signIn.publicUrl,
    clusterCredentialDirectories: options.clusterCredentialDirectories,
    secretFiles: options.secretFiles,
    trustedEngines: options.trustedEngines,
    metricsPrefix: options.metrics.prefix
  } satisfies Partial<EngineOptions>
}

/** The HTTP server's options. */
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
