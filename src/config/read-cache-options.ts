import { type AnswerLimits, DEFAULT_ANSWER_LIMITS, parseCacheAddress } from '../engine/runtime/cache-address.ts'
import { type OptionReader, readPasswordFile } from './option-reader.ts'
import type { ConfiguredValue } from './read-files.ts'
import type { ServeOptions } from './serve-options.ts'

/** What asynchronous Scrapyds call our cache limits, in [scrapyd] and in [cache]. */
const OTHER_LIMITS: Record<string, readonly [string, string]> = {
  cache_ttl: ['cache_default_ttl', 'default_ttl'],
  cache_compression_threshold: ['redis_compression_threshold', 'compression_threshold']
}

/** Returns null if the engine does not share a cache. */
export function readCacheOptions(options: OptionReader): ServeOptions['cache'] {
  const own = options.pick('scrapdeck', 'cache')
  const picked = readOtherCache(options, own) ?? own
  options.list('scrapdeck', 'cache', picked?.text ?? 'memory', picked)
  const file = options.text('cache_password_file')
  const isShared = picked !== null && picked.text !== '' && picked.text !== 'memory'
  const answers = readAnswerLimits(options, isShared)
  if (!isShared) return null
  return options.parse(picked, () => ({
    address: parseCacheAddress(picked.text, file && readPasswordFile(file.text)),
    answers
  }))
}

/**
 * Reads the Redis address of an asynchronous Scrapyd: `redis_url`, or `host`, `port` and `db` in [cache]. An address
 * implies that the backend is Redis. `own`, the value in [scrapdeck], takes precedence.
 */
function readOtherCache(options: OptionReader, own: ConfiguredValue | null): ConfiguredValue | null {
  const pick = (section: 'scrapyd' | 'cache') => (name: string) => ({
    section,
    name,
    picked: options.pick(section, name)
  })
  const ofScrapyd = ['cache_backend', 'redis_url'].map(pick('scrapyd'))
  const all = [...ofScrapyd, ...['backend', 'host', 'port', 'db'].map(pick('cache'))]
  const [first, url, second, host, port, db] = all.map(({ picked }) => (picked?.text === '' ? null : picked))
  const backend = first ?? second
  const kind = backend?.text.toLowerCase() ?? ((url ?? host) ? 'redis' : 'memory')
  if (kind !== 'redis' && kind !== 'memory') {
    const what = `a cache is in memory or in a Redis, not "${kind}": cache = redis://HOST:6379/0 in [scrapdeck].`
    options.warn(`${backend!.from}: ${what}`)
  }
  const why = own !== null ? `cache is set too (${own.from})` : kind === 'redis' ? null : `the backend is ${kind}`
  const unused = []
  for (const { section, name, picked } of all) {
    const isUnused = picked !== null && why !== null && !(name.endsWith('backend') && kind !== 'redis')
    if (isUnused) unused.push({ section, name, picked })
    const text = picked === null ? 'see cache' : `${picked.text}${isUnused ? ` (${why})` : ''}`
    if (picked !== null || section === 'scrapyd') options.list(section, name, text, picked)
  }
  if (unused.length > 0) options.warnUseless(unused, why!)
  if (why !== null) return null
  // A backend without an address is Redis on this machine, so even a discovered file can choose it.
  if ((url ?? host) && options.refuseFound((url ?? host)!, url === null ? 'host' : 'redis_url')) return null
  const at = host?.text.includes(':') ? `[${host.text}]` : (host?.text ?? 'localhost')
  const text = url?.text ?? `redis://${at}:${port?.text ?? 6379}/${db?.text ?? 0}`
  return { text, from: (url ?? host ?? backend)!.from }
}

function readAnswerLimits(options: OptionReader, isShared: boolean): AnswerLimits {
  const { ttlMs, maxBytes, compressFromBytes } = DEFAULT_ANSWER_LIMITS
  const whole = (name: string, byDefault: number, least: number, maximum: number) => {
    let used = { name, picked: options.pick('scrapdeck', name) }
    for (const [index, other] of (OTHER_LIMITS[name] ?? []).entries()) {
      const section = index === 0 ? 'scrapyd' : 'cache'
      const picked = options.pick(section, other)
      const note = !isShared ? ' (nothing is shared)' : used.picked === null ? '' : ` (${used.name} is set)`
      if (picked === null && section === 'cache') continue
      options.list(section, other, picked === null ? `see ${name}` : `${picked.text}${note}`, picked)
      if (picked !== null && note === '') used = { name: other, picked }
    }
    const { picked } = used
    const isOther = used.name !== name
    const given = picked && options.whole(picked, used.name, isOther ? Number.MAX_SAFE_INTEGER : maximum)
    const value = given === null || !isOther ? given : Math.min(maximum, Math.max(least, given))
    if (value !== given)
      options.warn(`${picked!.from}: ${used.name} is from ${least} to ${maximum} here, so ${given} becomes ${value}.`)
    if (value !== null && value < least) options.refuse(picked!, `${used.name} must be at least ${least}.`)
    options.list('scrapdeck', name, String(value ?? (picked === null ? byDefault : '')), picked)
    return value ?? byDefault
  }
  return {
    ttlMs: whole('cache_ttl', ttlMs / 1_000, 1, 86_400) * 1_000,
    maxBytes: whole('cache_max_size', maxBytes, 0, 64_000_000),
    compressFromBytes: whole('cache_compression_threshold', compressFromBytes, 0, 64_000_000)
  }
}
