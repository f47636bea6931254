import type { DiscoverySource } from '../../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import { parseNodeUrl } from '../scrapyd/node-url.ts'
import { type Answer, type FoundNode, isHost } from './found-node.ts'
import type { NameResolver } from './name-resolver.ts'

type DnsSource = Extract<DiscoverySource, { kind: 'dns' }>

const FAILURES: Record<string, string> = {
  ENOTFOUND:
    'the name does not exist (NXDOMAIN). Check it; in Kubernetes use the full name, such as scrapyd.default.svc.cluster.local',
  ENODATA: 'the name has no record of this type. Check the record type',
  ESERVFAIL: 'the name server failed (SERVFAIL). See its log',
  EREFUSED: 'the name server refused to answer. Check which server this machine uses',
  ETIMEOUT: 'the name server did not answer in time. Check that this machine reaches it',
  ECANCELLED: 'the name server did not answer in time. Check that this machine reaches it',
  ECONNREFUSED: "nothing listens at the name server's address. Check which server this machine uses",
  EBADNAME: 'this is not a valid name. Correct it'
}

/** Returns all addresses of a name. Rejects with BAD_INPUT and the reason if the query fails. */
export async function readDns(source: DnsSource, resolver: NameResolver): Promise<Answer> {
  const { hostname, record } = source
  let hosts: Host[]
  try {
    hosts =
      record === 'SRV'
        ? (await resolver.services(hostname)).map(serviceHost)
        : (await resolver.addresses(hostname, record)).map((address) => addressHost(hostname, address, source.port))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    const why = FAILURES[code] ?? `the lookup failed (${code || (error as Error).message})`
    throw new ScrapdeckError('BAD_INPUT', sentence('nodes.dns_failed', { record, hostname, why }), { cause: error })
  }
  const nodes = new Map<string, FoundNode>()
  const problems: string[] = []
  for (const { host, port, name } of hosts) {
    // Third parties control DNS records, so we accept only a plain host.
    if (!isHost(host.toLowerCase())) {
      problems.push('one of its records has no host')
      continue
    }
    try {
      const { url } = parseNodeUrl(`${source.scheme}://${host}:${port}${basePathOf(source)}`)
      if (!nodes.has(url)) nodes.set(url, { url, name })
    } catch (error) {
      if (!isScrapdeckError(error)) throw error
      problems.push(error.message.replace(/\. An address looks like .*$/, ''))
    }
  }
  return { nodes: [...nodes.values()], problems }
}

interface Host {
  host: string
  port: number
  name: string
}

/** `scrapyd-0.scrapyd.default.svc…` becomes scrapyd-0, the name of the pod. */
function serviceHost({ name, port }: { name: string; port: number }): Host {
  const host = name.replace(/\.$/, '')
  return { host, port, name: host.split('.')[0]! }
}

/** `scrapyd.default.svc…` at 10.0.0.5 becomes scrapyd-10-0-0-5. */
function addressHost(hostname: string, address: string, port: number): Host {
  const isSix = address.includes(':')
  const name = `${hostname.split('.')[0]}-${address.replace(/[.:]+/g, '-').replace(/^-|-$/g, '')}`
  return { host: isSix ? `[${address}]` : address, port, name }
}

function basePathOf({ basePath }: DnsSource): string {
  return basePath.startsWith('/') ? basePath : `/${basePath}`
}
