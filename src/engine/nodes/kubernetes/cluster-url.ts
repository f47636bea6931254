import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'
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
  if (url.startsWith('ssh:')) throw invalid(sentence('nodes.cluster_over_ssh'))
  const { origin, pathname } = new URL(url)
  const [, base, namespace] = PATH.exec(pathname) ?? []
  if (base === undefined || namespace === undefined) throw invalid(sentence('nodes.cluster_without_namespace'))
  if (username !== null) throw invalid(sentence('nodes.cluster_with_user_name'))
  if (url.startsWith('http:') && !isLoopbackUrl(url)) throw invalid(sentence('nodes.cluster_without_https'))
  return { url, server: `${origin}${base}`, namespace }
}

function invalid(problem: Sentence): ScrapdeckError {
  return new ScrapdeckError('NODE_URL_INVALID', sentence('nodes.cluster_address_invalid', { problem }))
}
