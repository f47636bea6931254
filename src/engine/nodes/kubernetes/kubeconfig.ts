import { parseDocument } from 'yaml'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'

export interface ClusterAccess {
  server: string
  namespace: string
  token: string | null
  tokenFile: string | null
  caCertificate: string | null
  caFile: string | null
  clientCertificate: string | null
  clientKey: string | null
  proxyUrl: string | null
}

/**
 * The URL and credentials of one context of a kubeconfig. Throws NODE_CONNECTION_INVALID, also for features that we
 * refuse: programs that supply credentials, disabled verification, passwords, and client certificates or keys in files.
 */
export function readKubeconfig(text: string, contextName: string | null): ClusterAccess {
  const config = parse(text)
  const wanted = contextName ?? textIn(config, 'current-context')
  if (wanted === null) throw invalid(sentence('nodes.kubeconfig_no_context'))
  const context = named(config, 'contexts', 'context', wanted)
  const clusterName = textIn(context, 'cluster')
  const cluster = named(config, 'clusters', 'cluster', clusterName)
  const userName = textIn(context, 'user')
  const user = userName === null ? {} : named(config, 'users', 'user', userName)
  const server = textIn(cluster, 'server')
  if (server === null) throw invalid(sentence('nodes.kubeconfig_no_server', { cluster: clusterName }))
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw invalid(sentence('nodes.kubeconfig_insecure', { cluster: clusterName }))
  }
  for (const field of ['exec', 'auth-provider'] as const) {
    if (user[field] !== undefined) {
      throw invalid(sentence('nodes.kubeconfig_runs_program', { user: userName, field }))
    }
  }
  for (const field of ['client-certificate', 'client-key'] as const) {
    if (user[field] !== undefined) {
      throw invalid(sentence('nodes.kubeconfig_names_file', { user: userName, field }))
    }
  }
  if (user['username'] !== undefined) throw invalid(sentence('nodes.kubeconfig_has_password', { user: userName }))
  return {
    server,
    namespace: textIn(context, 'namespace') ?? 'default',
    token: textIn(user, 'token'),
    tokenFile: textIn(user, 'tokenFile'),
    caCertificate: pemIn(cluster, 'certificate-authority-data'),
    caFile: textIn(cluster, 'certificate-authority'),
    clientCertificate: pemIn(user, 'client-certificate-data'),
    clientKey: pemIn(user, 'client-key-data'),
    proxyUrl: textIn(cluster, 'proxy-url')
  }
}

type Fields = Record<string, unknown>

function parse(text: string): Fields {
  let value: unknown
  try {
    const document = parseDocument(text, { stringKeys: true, logLevel: 'silent' })
    if (document.errors.length > 0) throw document.errors[0]!
    value = document.toJS({ maxAliasCount: 0 })
  } catch (error) {
    // The parser's message quotes lines, which can be secret.
    throw invalid(sentence('nodes.kubeconfig_not_yaml'), error)
  }
  if (!isFields(value)) throw invalid(sentence('nodes.kubeconfig_has_no_fields'))
  return value
}

function named(config: Fields, list: string, field: string, name: string | null): Fields {
  const entries = Array.isArray(config[list]) ? config[list] : []
  const found: unknown = entries.find((one: unknown) => isFields(one) && one['name'] === name)
  const value = isFields(found) ? found[field] : undefined
  if (!isFields(value)) throw invalid(sentence('nodes.kubeconfig_lacks', { field, name: JSON.stringify(name) }))
  return value
}

function textIn(fields: Fields, name: string): string | null {
  const value = fields[name]
  return typeof value === 'string' && value !== '' ? value : null
}

function pemIn(fields: Fields, name: string): string | null {
  const text = textIn(fields, name)
  return text === null ? null : Buffer.from(text, 'base64').toString('utf8')
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(problem: Sentence, cause?: unknown): ScrapdeckError {
  // The cause can quote the file, so we keep only the name of the error.
  const kind = cause instanceof Error ? cause.name : undefined
  return new ScrapdeckError('NODE_CONNECTION_INVALID', problem, kind === undefined ? {} : { cause: kind })
}
