import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import { isLoopbackUrl, parseNodeUrl } from '../scrapyd/node-url.ts'

export interface ClusterUrl {
  /** The URL of the API server, with a trailing slash. */
  server: string
  namespace: string
}

const PATH = /^(.*\/)api\/v1\/namespaces\/([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)\/$/

export function clusterUrlOf(server: string, namespace: string): string {
  return `${server.replace(/\/$/, '')}/api/v1/namespaces/${namespace}/`
}

/**
 * Idempotent for `url`. Throws NODE_URL_INVALID, also for plain HTTP to another machine, which would expose a
 * token that can start any code.
 */
export function parseClusterUrl(text: string): ClusterUrl & { url: string } {
  const trimmed = text.trim()
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `https://${trimmed}`
  const { url, username } = parseNodeUrl(withScheme)
  if (url.startsWith('ssh:')) throw invalid('A cluster cannot be reached through an SSH host')
  const { origin, pathname } = new URL(url)
  const [, base, namespace] = PATH.exec(pathname) ?? []
  if (base === undefined || namespace === undefined) throw invalid('The address does not name a namespace')
  if (username !== null) throw invalid('The API server takes a token or a client certificate, not a user name')
  if (url.startsWith('http:') && !isLoopbackUrl(url)) throw invalid('The API server must be reached by https')
  return { url, server: `${origin}${base}`, namespace }
}

function invalid(problem: string): ScrapdeckError {
  return new ScrapdeckError('NODE_URL_INVALID', sentence('nodes.cluster_address_invalid', { problem }))
}
