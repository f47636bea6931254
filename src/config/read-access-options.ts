import { isIP } from 'node:net'
import {
  BURST_SECONDS,
  DEFAULT_CONNECTION_LIMITS,
  DEFAULT_RATE_LIMITS,
  perSecond,
  type RateLimit
} from '../server/limits.ts'
import { maskCredentials } from '../shared/secret-values.ts'
import type { OptionReader } from './option-reader.ts'
import type { ConfiguredValue } from './read-files.ts'
import type { ServeOptions } from './serve-options.ts'

const DEFAULT_PREFIX = 'scrapdeck'
/** A metric name in Prometheus's data model. Colons are excluded because they are reserved for rules. */
const PREFIX = /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/

/** Uses the names and values of [metrics] in asynchronous Scrapyds. */
export function readMetricsOptions(options: OptionReader): Pick<ServeOptions, 'metrics'> {
  const prefix = options.pick('scrapdeck', 'metrics_prefix') ?? options.pick('metrics', 'namespace')
  const enabled = options.pick('metrics', 'enabled')
  const from = options.pick('scrapdeck', 'metrics_from')
  const metrics = {
    prefix: prefix?.text ?? DEFAULT_PREFIX,
    isServed: enabled === null || options.isOn(enabled, 'enabled'),
    openTo: readNetworks(
      options,
      from,
      'metrics_from takes addresses and networks, such as "127.0.0.1 10.1.0.0/16"',
      'All addresses would let anybody read the names of projects, spiders and nodes.'
    )
  }
  if (!PREFIX.test(metrics.prefix)) {
    options.refuse(prefix!, `a prefix of metrics has letters, digits and _, not "${metrics.prefix}".`)
  }
  options.list('scrapdeck', 'metrics_prefix', metrics.prefix, prefix)
  options.list('scrapdeck', 'metrics_from', metrics.openTo.join(' '), from)
  options.list('metrics', 'enabled', metrics.isServed ? 'on' : 'off', enabled)
  return { metrics }
}

const ENABLED_LIMIT = { requests: 1000, windowSeconds: 60 }

export function readAccessOptions(
  options: OptionReader
): Pick<
  ServeOptions,
  | 'trustedProxies'
  | 'trustedEngines'
  | 'tls'
  | 'redirectPort'
  | 'behindProxy'
  | 'allowPlainHttp'
  | 'rateLimits'
  | 'connectionLimits'
> {
  const behindProxy = options.switch('behind_proxy')
  return {
    trustedProxies: readTrustedProxies(options, behindProxy),
    trustedEngines: readTrustedEngines(options),
    ...readOwnTls(options),
    behindProxy,
    allowPlainHttp: options.switch('allow_plain_http'),
    rateLimits: {
      api: readApiLimit(options),
      endpoints: readEndpointsLimit(options),
      open: readLimit(options, 'open_rate_limit', DEFAULT_RATE_LIMITS.open)
    },
    connectionLimits: {
      total: readCount(options, 'max_connections', DEFAULT_CONNECTION_LIMITS.total),
      perAddress: readCount(options, 'max_connections_per_address', DEFAULT_CONNECTION_LIMITS.perAddress)
    }
  }
}

function readOwnTls(options: OptionReader): Pick<ServeOptions, 'tls' | 'redirectPort'> {
  const tls = readTls(options)
  const picked = options.pick('scrapdeck', 'http_redirect_port')
  const name = picked?.from.startsWith('--') ? picked.from : 'http_redirect_port'
  const redirectPort = picked === null || picked.text === '' ? null : options.whole(picked, name, 65_535)
  options.list('scrapdeck', 'http_redirect_port', redirectPort === null ? '' : String(redirectPort), picked)
  if (redirectPort !== null && tls === null) {
    options.refuse(
      picked!,
      'http_redirect_port leads to HTTPS, which needs tls_certificate and tls_key, or tls_self_made'
    )
  }
  return { tls, redirectPort }
}

function readTls(options: OptionReader): ServeOptions['tls'] {
  const files = readCertificate(options)
  const selfMade = options.switch('tls_self_made')
  const clientAuthority = options.path('tls_client_ca')
  if (selfMade && files !== null) {
    options.refuse(
      options.pick('scrapdeck', 'tls_certificate')!,
      'tls_certificate and tls_self_made are two certificates of one service: set one of them'
    )
  }
  if (files !== null || selfMade) return { files: files ?? 'self-made', clientAuthority }
  if (clientAuthority !== null) {
    options.refuse(
      options.pick('scrapdeck', 'tls_client_ca')!,
      'tls_client_ca is for TLS, which needs tls_certificate and tls_key, or tls_self_made'
    )
  }
  return null
}

function readCertificate(options: OptionReader): { certificate: string; key: string } | null {
  const certificate = options.path('tls_certificate')
  const key = options.path('tls_key')
  if (certificate !== null && key !== null) return { certificate, key }
  if (certificate === null && key === null) return null
  const given = options.pick('scrapdeck', 'tls_certificate') ?? options.pick('scrapdeck', 'tls_key')
  options.refuse(given!, 'tls_certificate and tls_key belong together: set both')
  return null
}

/** The proxies that `behind_proxy` trusts if the operator names none. */
const PROXY_ON_THIS_MACHINE = ['127.0.0.1', '::1']

function readTrustedProxies(options: OptionReader, behindProxy: boolean): string[] {
  const otherwise = behindProxy ? PROXY_ON_THIS_MACHINE : []
  const picked = options.text('trusted_proxies', otherwise.join(' '))
  if (picked === null) return otherwise
  return readNetworks(
    options,
    picked,
    'trusted_proxies takes addresses and networks, such as "127.0.0.1 10.1.0.0/16"',
    'A network of all addresses would let any client choose its address.'
  )
}

const TRUSTED_ENGINES_MAX = 100

/** Parses `NAME=URL` entries, one per line or separated by commas. The URLs must not contain credentials. */
function readTrustedEngines(options: OptionReader): ServeOptions['trustedEngines'] {
  const picked = options.text('trusted_engines')
  const lines = (picked?.text ?? '').split(/[\n,]/).map((line) => line.trim())
  const engines = lines.filter(Boolean).flatMap((line) => {
    const [, name = '', address = ''] = /^([^=]{1,60})=\s*(\S{1,2000})$/.exec(line) ?? []
    const url = URL.parse(address.trim())
    const isAddress =
      url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === ''
    if (isAddress && name.trim() !== '') return [{ name: name.trim(), url: url.href.replace(/\/+$/, '') }]
    options.refuse(
      picked!,
      `trusted_engines takes NAME=URL without a password, such as "EU=https://eu.example.org", one per line, not "${maskCredentials(line)}"`
    )
    return []
  })
  if (engines.length > TRUSTED_ENGINES_MAX) {
    options.refuse(picked!, `trusted_engines takes at most ${TRUSTED_ENGINES_MAX} engines`)
  }
  return engines
}

/** Parses the addresses and networks of an option. Refuses invalid values, and networks that contain all addresses. */
export function readNetworks(
  options: OptionReader,
  picked: ConfiguredValue | null,
  what: string,
  whyNotAll: string
): string[] {
  const networks = (picked?.text ?? '').split(/[\s,]+/).filter((network) => network !== '')
  for (const network of networks.filter((one) => !isNetwork(one))) {
    options.refuse(picked!, `${what}, not "${network}". ${whyNotAll}`)
  }
  return networks
}

function isNetwork(text: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  if (version === 0 || bits === undefined) return version !== 0
  return Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128)
}

function readApiLimit(options: OptionReader): RateLimit | null {
  const before = options.text('api_requests_per_second', 'see api_rate_limit')
  if (before === null) return readLimit(options, 'api_rate_limit', DEFAULT_RATE_LIMITS.api)
  if (options.pick('scrapdeck', 'api_rate_limit') !== null) {
    options.refuse(before, 'api_requests_per_second and api_rate_limit set the same limit. Remove one of them.')
  }
  if (/^\d{1,6}$/.test(before.text.trim())) return perSecond(Number(before.text))
  options.refuse(before, `api_requests_per_second must be a whole number (0: no limit), not "${before.text}".`)
  return null
}

function readEndpointsLimit(options: OptionReader): RateLimit | null {
  const enabled = options.pick('scrapyd', 'rate_limiting_enabled')
  const maximum = options.pick('scrapyd', 'rate_limit_max_requests')
  const window = options.pick('scrapyd', 'rate_limit_window')
  const isEnabled = enabled !== null && options.isOn(enabled, 'rate_limiting_enabled')
  const requests = countOf(options, maximum, 'rate_limit_max_requests') ?? ENABLED_LIMIT.requests
  const windowSeconds = countOf(options, window, 'rate_limit_window') ?? ENABLED_LIMIT.windowSeconds
  options.list('scrapyd', 'rate_limiting_enabled', isEnabled ? 'on' : 'off', enabled)
  options.list('scrapyd', 'rate_limit_max_requests', String(requests), maximum)
  options.list('scrapyd', 'rate_limit_window', String(windowSeconds), window)
  if (!isEnabled) {
    for (const unused of [maximum, window].filter((one) => one !== null)) {
      options.warn(`${unused.from}: has no effect without rate_limiting_enabled = on.`)
    }
    return readLimit(options, 'rate_limit', DEFAULT_RATE_LIMITS.endpoints)
  }
  if (options.pick('scrapdeck', 'rate_limit') !== null) {
    options.refuse(
      enabled,
      'rate_limiting_enabled and rate_limit of [scrapdeck] set the same limit. Remove one of them.'
    )
  }
  options.list('scrapdeck', 'rate_limit', `${requests} per ${windowSeconds}`, enabled)
  return { requests, windowSeconds, burst: requests }
}

/** Parses `600 per 60 burst 100`. By default, the burst is what the rate allows in four seconds. 0 means no limit. */
function readLimit(options: OptionReader, name: string, otherwise: RateLimit | null): RateLimit | null {
  const picked = options.text(name, describe(otherwise))
  if (picked === null || picked.text.trim() === '0') return picked === null ? otherwise : null
  const match = /^([1-9]\d{0,6}) +per +([1-9]\d{0,5})(?: +burst +([1-9]\d{0,6}))?$/.exec(picked.text.trim())
  if (match === null) {
    options.refuse(
      picked,
      `${name} takes a number of requests and of seconds, such as "600 per 60" or "600 per 60 burst 100" (0: no limit), not "${picked.text}".`
    )
    return otherwise
  }
  const [requests, windowSeconds] = [Number(match[1]), Number(match[2])]
  const burst = match[3] === undefined ? Math.ceil((requests / windowSeconds) * BURST_SECONDS) : Number(match[3])
  return { requests, windowSeconds, burst }
}

function describe(limit: RateLimit | null): string {
  return limit === null ? '0' : `${limit.requests} per ${limit.windowSeconds} burst ${limit.burst}`
}

function readCount(options: OptionReader, name: string, otherwise: number): number {
  const picked = options.pick('scrapdeck', name)
  const count = countOf(options, picked, name) ?? otherwise
  options.list('scrapdeck', name, String(count), picked)
  return count
}

function countOf(options: OptionReader, picked: ConfiguredValue | null, name: string): number | null {
  if (picked === null) return null
  if (/^[1-9]\d{0,6}$/.test(picked.text.trim())) return Number(picked.text)
  options.refuse(picked, `${name} must be a whole number from 1, not "${picked.text}".`)
  return null
}
