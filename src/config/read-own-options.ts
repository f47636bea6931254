import { isAbsolute, resolve as resolvePath } from 'node:path'
import type { EncryptionOptions } from '../engine/runtime/encryption-keys.ts'
import { parsePostgresAddress, type PostgresAddress } from '../engine/runtime/postgres-address.ts'
import { parseBlobsDirectory } from '../engine/runtime/blobs-directory.ts'
import { DEFAULT_USERS, parseUserRange, ISOLATION_WAYS } from '../engine/runtime/isolation-settings.ts'
import { isS3Address, parseS3Address, type S3Address } from '../engine/runtime/s3-address.ts'
import { parseSyslogAddress } from '../engine/runtime/syslog-address.ts'
import { isLoopback } from '../server/auth/host-rule.ts'
import { DEFAULT_AUDIT_DAYS, DEFAULT_CRAWL_CACHE_SECONDS, MAX_CRAWL_CACHE_SECONDS } from '../shared/contract/index.ts'
import { maskCredentials } from '../shared/secret-values.ts'
import { CANCEL_WAITS_MS } from '../shared/run-limits.ts'
import { readAccessOptions, readMetricsOptions } from './read-access-options.ts'
import { readSignInOptions } from './read-sign-in-options.ts'
import { readCacheOptions } from './read-cache-options.ts'
import { type ConfiguredSource, nodesSource, readSources } from './discovery-options.ts'
import { type AlertCommand, readCommandLines } from './alert-command-options.ts'
import { readDataDirectory } from './local-service.ts'
import { type OptionReader, readPasswordFile } from './option-reader.ts'
import { namesIn } from './option-table.ts'
import { type PluginSettings, readPluginLines } from './plugin-options.ts'
import type { ConfiguredValue } from './read-files.ts'
import type { ServeOptions } from './serve-options.ts'

export function readOwnOptions(options: OptionReader) {
  const known = namesIn('scrapdeck')
  for (const name of options.context.configuration.keys('scrapdeck').filter((key) => !known.includes(key))) {
    options.refuse(
      options.context.configuration.get('scrapdeck', name)!,
      `[scrapdeck] has no option "${name}". It has: ${known.join(', ')}.`
    )
  }
  const dataDirectory = readDataDirectory(options)
  const python = options.pick('scrapdeck', 'python')
  const hosts = options.pick('scrapdeck', 'allowed_hosts')
  const allowedHosts = (hosts?.text ?? '').split(/[\s,]+/).filter((host) => host !== '')
  const ssh = options.pick('scrapdeck', 'ssh_program')
  options.list('scrapdeck', 'ssh_program', ssh?.text || 'ssh', ssh)
  options.list('scrapdeck', 'python', python?.text ?? 'detected automatically', python)
  options.list('scrapdeck', 'allowed_hosts', allowedHosts.join(', '), hosts)
  return {
    dataDirectory,
    postgres: readStore(options),
    ...readBlobs(options),
    cache: readCacheOptions(options),
    // The engine reads the file and does not start without the right key.
    secretKeyFile: options.path('secret_key_file', 'secret.key in the data directory'),
    encryption: readEncryption(options),
    pythonPath: python?.text || null,
    sshProgram: ssh?.text || null,
    allowedHosts,
    ...readEngine(options),
    ...readLocalStarts(options),
    isolation: readIsolation(options),
    logLevel: readLogLevel(options),
    cancelWaitsSeconds: readCancelWaits(options),
    crawlCacheSeconds: options.number('crawl_cache_ttl', DEFAULT_CRAWL_CACHE_SECONDS, {
      most: MAX_CRAWL_CACHE_SECONDS
    }),
    audit: readAudit(options),
    discovery: readDiscovery(options),
    plugins: readPlugins(options),
    // The engine parses the networks and does not start if one is invalid.
    webhookNetworks: options.text('webhook_networks')?.text ?? '',
    alertCommands: readAlertCommands(options),
    clusterCredentialDirectories: readClusterCredentials(options),
    heartbeat: readHeartbeat(options),
    ...readAccessOptions(options),
    signIn: readSignInOptions(options),
    ...readMetricsOptions(options)
  }
}

function readStore(options: OptionReader): PostgresAddress | null {
  const picked = options.text('store', 'sqlite')
  const file = options.text('store_password_file')
  if (picked === null || picked.text === '' || picked.text === 'sqlite') return null
  return options.parse(picked, () => parsePostgresAddress(picked.text, file && readPasswordFile(file.text)))
}

function readEncryption(options: OptionReader): EncryptionOptions | null {
  const keyFile = options.path('encryption_key_file')
  const command = options.pick('scrapdeck', 'encryption_key_command')
  // The command can contain a secret, so it is not shown.
  options.list('scrapdeck', 'encryption_key_command', command?.text ? 'a command' : '', command)
  const keyCommand = command?.text || null
  if (keyFile !== null && keyCommand !== null)
    options.refuse(command!, 'Keys come from encryption_key_file or encryption_key_command. Remove one of the two')
  return keyFile === null && keyCommand === null ? null : { keyFile, keyCommand }
}

function readEngine(options: OptionReader): Pick<ServeOptions, 'engineName' | 'engineAddress'> {
  const name = options.text('engine_name', 'host name and port')
  const address = options.text('engine_address', 'where it listens')
  if (name !== null && !/^[\p{L}\p{N} ._:-]{1,60}$/u.test(name.text))
    options.refuse(name, 'The name of an engine has 1 to 60 letters, digits, spaces and . _ : -')
  if (address !== null && !/^https?:\/\/[^/?#@]+$/.test(address.text))
    options.refuse(address, 'Write the address of this engine as http://HOST:PORT')
  return { engineName: name?.text || null, engineAddress: address?.text || null }
}

const BLOBS_CACHE_MB = 2_048
/** The minimum size of the cache. A smaller cache could not hold the files that one search reads at the same time. */
const BLOBS_CACHE_MIN_MB = 64

function readBlobs(options: OptionReader): Pick<ServeOptions, 's3' | 'blobsDirectory'> {
  const picked = options.pick('scrapdeck', 'blobs')
  const isOwn = picked === null || picked.text === '' || picked.text === 'files'
  const directory = isOwn ? null : parseBlobsDirectory(picked.text)
  // An address that cannot be parsed may contain a secret, so it is not shown.
  const address = isOwn || directory !== null ? null : readAddress(options, picked)
  options.list('scrapdeck', 'blobs', address === null ? (directory ?? 'files') : picked!.text, picked)
  const file = options.text('blobs_credentials_file')
  const cacheMb = options.number('blobs_cache_mb', BLOBS_CACHE_MB, { least: BLOBS_CACHE_MIN_MB, most: 10_000_000 })
  if (address === null) return { s3: null, blobsDirectory: directory }
  const s3 = { address, credentialsFile: file?.text || null, cacheBytes: cacheMb * 1_000_000 }
  return { s3, blobsDirectory: null }
}

function readAddress(options: OptionReader, picked: ConfiguredValue): S3Address | null {
  if (!isS3Address(picked.text)) {
    options.refuse(picked, 'blobs takes files, s3://BUCKET/PREFIX, or the absolute path of a shared directory.')
    return null
  }
  return options.parse(picked, () => parseS3Address(picked.text))
}

function readPlugins(options: OptionReader): PluginSettings[] {
  const picked = options.pick('scrapdeck', 'plugins')
  const { plugins, problems: wrong } = readPluginLines(picked?.text ?? '', options.context.workingDirectory)
  for (const problem of wrong) options.refuse(picked!, problem)
  // The options can contain passwords, so only names are shown.
  options.list('scrapdeck', 'plugins', plugins.map(({ name }) => name).join(', '), picked)
  return plugins
}

function readAlertCommands(options: OptionReader): AlertCommand[] {
  const picked = options.pick('scrapdeck', 'alert_commands')
  const { commands, problems: wrong } = readCommandLines(picked?.text ?? '', options.context.workingDirectory)
  for (const problem of wrong) options.refuse(picked!, problem)
  // The arguments can contain passwords, so only names are shown.
  options.list('scrapdeck', 'alert_commands', commands.map(({ name }) => name).join(', '), picked)
  return commands
}

function readClusterCredentials(options: OptionReader): string[] {
  const picked = options.pick('scrapdeck', 'cluster_credential_directories')
  const lines = (picked?.text ?? '').split('\n').map((line) => line.trim())
  const directories = lines.filter((line) => line !== '').map((line) => line.replace(/(?<=.)[\\/]+$/, ''))
  for (const directory of directories.filter(
    (one) => !isAbsolute(one) || resolvePath(one, '..') === resolvePath(one)
  )) {
    options.refuse(
      picked!,
      `cluster_credential_directories takes absolute paths of directories, one per line, such as /etc/scrapdeck/clusters, not "${directory}".`
    )
  }
  options.list('scrapdeck', 'cluster_credential_directories', directories.join(', '), picked)
  return directories
}

const LIFE_SECONDS = 60
const LIFE_MIN_SECONDS = 10
const LIFE_MAX_SECONDS = 86_400

function readHeartbeat(options: OptionReader): ServeOptions['heartbeat'] {
  const picked = options.pick('scrapdeck', 'life_url')
  const url = picked === null || picked.text === '' ? null : URL.parse(picked.text)
  // Anyone who knows the whole address can send the heartbeat, so the path is not shown.
  options.list('scrapdeck', 'life_url', url === null ? '' : `${url.origin}/…`, picked)
  const seconds = options.number('life_every', LIFE_SECONDS, {
    least: LIFE_MIN_SECONDS,
    most: LIFE_MAX_SECONDS,
    unit: ' seconds'
  })
  if (picked === null || picked.text === '') return null
  if (url === null || !/^https?:$/.test(url.protocol)) {
    options.refuse(picked, 'life_url is the address of a check, such as https://hc-ping.com/…')
    return null
  }
  return { url: url.href, everySeconds: seconds }
}

function readDiscovery(options: OptionReader): ConfiguredSource[] {
  const nodes = options.pick('scrapdeck', 'nodes')
  const discover = options.pick('scrapdeck', 'discover')
  const lines = (nodes?.text ?? '').split('\n').filter((line) => line.trim() !== '')
  const { sources, problems: wrong } = readSources(discover?.text ?? '', options.context.workingDirectory)
  for (const problem of wrong) options.refuse(discover!, problem)
  // Addresses can contain passwords, so only their number is shown.
  options.list('scrapdeck', 'nodes', lines.length === 0 ? '' : `${lines.length} listed`, nodes)
  options.list('scrapdeck', 'discover', sources.map(({ id }) => id).join(', '), discover)
  const listed = lines.length === 0 ? readScrapydUrl(options) : nodesSource(lines.join('\n'))
  return [...(listed === null ? [] : [listed]), ...sources]
}

/** The Scrapyd to which a crawl scheduler sends all its jobs. It becomes a node unless it is this service. */
function readScrapydUrl(options: OptionReader): ConfiguredSource | null {
  const picked = options.pick('variables', 'SCRAPYD_URL')
  if (picked === null) return null
  const url = URL.parse(picked.text.trim())
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const shown = maskCredentials(picked.text)
    options.refuse(picked, `it must be the address of a Scrapyd, such as http://scrapyd:6800, not "${shown}".`)
    return null
  }
  const port = options.pick('scrapyd', 'http_port')?.text ?? '6800'
  const isOwn = isLoopback(url.hostname.replace(/^\[|\]$/g, '')) && url.port === port
  if (isOwn) options.warn(`SCRAPYD_URL: ${url.origin} is the address of this Scrapdeck, so it does not become a node.`)
  options.list('variables', 'SCRAPYD_URL', isOwn ? '(this Scrapdeck)' : url.origin, picked)
  if (isOwn) return null
  const source = nodesSource(`${url.origin}${url.pathname}`)
  if (url.username === '') return source
  return { ...source, username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
}

/** Asynchronous Scrapyds name these options `process_pool_…` and `process_startup_timeout`. */
function readLocalStarts(options: OptionReader): Pick<ServeOptions, 'warmStarts'> {
  const pool = options.pick('scrapyd', 'process_pool_enabled')
  const size = options.pick('scrapyd', 'process_pool_size')
  const timeout = options.pick('scrapyd', 'process_startup_timeout')
  const starts = options.pick('scrapdeck', 'warm_starts') ?? pool
  const parents = options.pick('scrapdeck', 'warm_parents')
  const parked = options.pick('scrapdeck', 'warm_parked') ?? size
  const wait = options.pick('scrapdeck', 'warm_wait') ?? timeout
  const startsName = starts === pool ? 'process_pool_enabled' : 'warm_starts'
  const waitName = wait === timeout ? 'process_startup_timeout' : 'warm_wait'
  const isOn = starts === null || options.isOn(starts, startsName)
  const mostParents = parents === null ? 4 : (options.whole(parents, 'warm_parents', 100) ?? 4)
  if (mostParents === 0) options.refuse(parents!, 'warm_parents must be at least 1. To turn it off: warm_starts = off.')
  const parkedName = parked === size ? 'process_pool_size' : 'warm_parked'
  const mostParked = parked === null ? 1 : (options.whole(parked, parkedName, 100) ?? 1)
  const seconds = wait === null ? 0 : Number(wait.text)
  if (!(seconds >= 0 && seconds <= 600)) {
    options.refuse(wait!, `${waitName} takes seconds, from 0 to 600, not "${wait!.text}".`)
  }
  for (const [name, own, old, used] of [
    ['process_pool_enabled', 'warm_starts', pool, starts],
    ['process_pool_size', 'warm_parked', size, parked],
    ['process_startup_timeout', 'warm_wait', timeout, wait]
  ] as const) {
    const isOverridden = old !== null && old !== used
    options.list(
      'scrapyd',
      name,
      old === null ? `see ${own}` : isOverridden ? `${old.text} (${own} is set)` : old.text,
      old
    )
    if (isOverridden) options.warn(`${old.from}: ${name} has no effect: ${own} is set too (${used!.from}).`)
  }
  const unused = [
    [parents, 'warm_parents'],
    [parked, parkedName],
    [wait, waitName]
  ] as const
  const places = unused.flatMap(([picked, name]) => (picked === null ? [] : [`${picked.from}: ${name}`]))
  if (!isOn && places.length > 0)
    options.warn(`${places.join('; ')} ${places.length === 1 ? 'has' : 'have'} no effect while ${startsName} is off.`)
  options.list('scrapdeck', 'warm_starts', isOn ? 'on' : 'off', starts)
  options.list('scrapdeck', 'warm_parents', String(mostParents), parents)
  options.list('scrapdeck', 'warm_parked', String(mostParked), parked)
  options.list('scrapdeck', 'warm_wait', String(seconds), wait)
  return { warmStarts: { isOn, mostParents, waitMs: seconds * 1000, mostParked } }
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
const OTHER_NAMES: Record<string, string> = { warning: 'warn', critical: 'error', fatal: 'error' }

function readIsolation(options: OptionReader): ServeOptions['isolation'] {
  const picked = options.pick('scrapdeck', 'keep_spiders_apart')
  const range = options.pick('scrapdeck', 'spider_users')
  const text = picked?.text.trim().toLowerCase() ?? 'off'
  const way = ISOLATION_WAYS.find((one) => one === text)
  if (way === undefined) {
    options.refuse(picked!, `keep_spiders_apart is one of ${ISOLATION_WAYS.join(', ')}, not "${picked!.text}".`)
  }
  const users = range === null ? DEFAULT_USERS : parseUserRange(range.text)
  if (users === null) {
    options.refuse(range!, `spider_users takes two user ids from 10000 on, such as 60706-61183, not "${range!.text}".`)
  }
  options.list('scrapdeck', 'keep_spiders_apart', way ?? text, picked)
  const { first, last } = users ?? DEFAULT_USERS
  options.list('scrapdeck', 'spider_users', `${first}-${last}`, range)
  return { way: way ?? 'off', users: { first, last } }
}

/** Other programs use LOG_LEVEL too, so an unknown value only causes a warning. */
function readLogLevel(options: OptionReader): ServeOptions['logLevel'] {
  const own = options.pick('scrapdeck', 'log_level')
  const picked = own ?? options.pick('variables', 'LOG_LEVEL')
  const text = picked?.text.trim().toLowerCase() ?? ''
  const level = LOG_LEVELS.find((one) => one === (OTHER_NAMES[text] ?? text)) ?? null
  options.list('scrapdeck', 'log_level', level ?? 'info', level === null ? null : picked)
  if (picked === null || level !== null) return level
  const why = `log_level is one of ${LOG_LEVELS.join(', ')}, not "${picked.text}".`
  if (own === null) options.warn(`LOG_LEVEL: ${why}`)
  else options.refuse(own, why)
  return null
}

function readCancelWaits(options: OptionReader): ServeOptions['cancelWaitsSeconds'] {
  const picked = options.text('cancel_waits', CANCEL_WAITS_MS.map((waitMs) => waitMs / 1000).join(' '))
  if (picked === null) return null
  const waits = /^(\d{1,6})[\s,]+(\d{1,6})[\s,]+(\d{1,6})$/.exec(picked.text.trim())?.slice(1).map(Number)
  if (waits !== undefined && waits.every((wait) => wait >= 1)) return waits as [number, number, number]
  options.refuse(
    picked,
    `cancel_waits takes three numbers of seconds (after INT, after the second INT, after KILL), such as "600 15 15", not "${picked.text}".`
  )
  return null
}

const AUDIT_DAYS_MAX = 36_500

function readAudit(options: OptionReader): ServeOptions['audit'] {
  const days = options.number('audit_days', DEFAULT_AUDIT_DAYS, { most: AUDIT_DAYS_MAX })
  const syslog = options.text('audit_syslog')
  const caFile = options.path('audit_syslog_ca')
  if (syslog === null || syslog.text === '') return { days, syslog: null }
  return { days, syslog: options.parse(syslog, () => parseSyslogAddress(syslog.text, caFile)) }
}
