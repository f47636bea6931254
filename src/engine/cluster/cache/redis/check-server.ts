/** What an operator should know about a newly connected server. */
export interface ServerCheck {
  /** It cannot serve as the cache; null: it can. */
  problem: string | null
  warnings: string[]
}

/** ZMSCORE, and scripts that may read the time before they write. */
const OLDEST_VERSION = [6, 2]

/** Reads the answer to INFO. Missing fields are fine: some providers hide them. Pure. */
export function checkServer(info: string): ServerCheck {
  const fields = new Map(
    info.split(/\r?\n/).flatMap((line): [string, string][] => {
      const colon = line.indexOf(':')
      return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]]
    })
  )
  return { problem: problemOf(fields), warnings: warningsOf(fields) }
}

function problemOf(fields: ReadonlyMap<string, string>): string | null {
  const version = fields.get('redis_version') ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_VERSION
  if (version !== '' && (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)))
    return `it is Redis ${version}; ${OLDEST_VERSION.join('.')} or later is needed`
  if (fields.get('loading') === '1') return 'it is still loading its data'
  if (fields.get('role') === 'slave') return 'it is a replica, which accepts no writes: name the primary'
  if (fields.get('cluster_enabled') === '1') return 'it is part of a cluster: name a server that is not'
  return null
}

function warningsOf(fields: ReadonlyMap<string, string>): string[] {
  const policy = fields.get('maxmemory_policy') ?? ''
  if ((fields.get('maxmemory') ?? '0') === '0') {
    return ['The shared cache has no memory limit (maxmemory). Set one, with maxmemory-policy volatile-ttl']
  }
  if (policy === 'noeviction') {
    return ['The shared cache refuses writes when it is full (maxmemory-policy noeviction). Set volatile-ttl']
  }
  if (policy.startsWith('allkeys-') || policy === 'volatile-random') {
    return [`The shared cache may drop sessions before answers (maxmemory-policy ${policy}). Set volatile-ttl`]
  }
  return []
}
