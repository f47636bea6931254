import { Resolver } from 'node:dns/promises'
import type { Clock } from '../../runtime/clock.ts'

export interface ServiceRecord {
  name: string
  port: number
}

/** Queries DNS. Rejects with a node:dns error code (`ENOTFOUND`, `ETIMEOUT`, …) if there is no result. */
export interface NameResolver {
  addresses(hostname: string, record: 'A' | 'AAAA'): Promise<string[]>
  services(hostname: string): Promise<ServiceRecord[]>
}

/** The time limit of a whole query, including all servers and retries. */
const TIME_LIMIT_MS = 10_000

export interface NameResolverOptions {
  clock: Clock
  servers?: string[]
  timeLimitMs?: number
}

export function createNameResolver({ clock, servers, timeLimitMs = TIME_LIMIT_MS }: NameResolverOptions): NameResolver {
  return {
    addresses: (hostname, record) =>
      ask((resolver) => (record === 'A' ? resolver.resolve4(hostname) : resolver.resolve6(hostname))),
    services: (hostname) => ask((resolver) => resolver.resolveSrv(hostname))
  }

  /** Uses a separate resolver for each query, because cancelling a resolver cancels all of its queries. */
  async function ask<T>(question: (resolver: Resolver) => Promise<T>): Promise<T> {
    const resolver = new Resolver({ timeout: Math.ceil(timeLimitMs / 4), tries: 2 })
    if (servers !== undefined) resolver.setServers(servers)
    const timer = clock.setTimer(timeLimitMs, () => resolver.cancel())
    try {
      return await question(resolver)
    } finally {
      timer.cancel()
    }
  }
}
