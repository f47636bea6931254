import { readFile } from 'node:fs/promises'
import type { KubernetesSettings, NodeAddress } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import { clusterUrlOf, parseClusterUrl } from './cluster-url.ts'
import { type CredentialFiles, SERVICE_ACCOUNT } from './credential-files.ts'
import { readKubeconfig } from './kubeconfig.ts'

export interface ClusterAddress {
  url: string
  kubernetes: KubernetesSettings
}

const IN_CLUSTER = 'https://kubernetes.default.svc'

/**
 * Replaces `in-cluster` and `kubeconfig` with the URL to store. Fields that the operator filled in take precedence.
 * Rejects with NODE_URL_INVALID, NODE_CONNECTION_INVALID or CREDENTIAL_FILE_NOT_ALLOWED.
 */
export async function resolveClusterAddress<Address extends Partial<NodeAddress>>(
  address: Address & { url: string; kubernetes: KubernetesSettings },
  files: Pick<CredentialFiles, 'check'>,
  serviceAccount = SERVICE_ACCOUNT
): Promise<Address & ClusterAddress> {
  const resolved = await expand(address, serviceAccount)
  const { tokenFile, caFile } = resolved.kubernetes
  for (const path of [tokenFile, caFile]) if (path !== null) await files.check(path)
  return resolved
}

async function expand<Address extends Partial<NodeAddress>>(
  address: Address & { url: string; kubernetes: KubernetesSettings },
  serviceAccount: string
): Promise<Address & ClusterAddress> {
  const [, keyword, namespace] = /^(in-cluster|kubeconfig)(?:\/([^/]+))?\/?$/.exec(address.url.trim()) ?? []
  if (keyword === 'in-cluster') {
    const kubernetes = {
      ...address.kubernetes,
      tokenFile: address.kubernetes.tokenFile ?? `${serviceAccount}/token`,
      caFile: address.kubernetes.caFile ?? `${serviceAccount}/ca.crt`
    }
    const own = namespace ?? (await namespaceHere(serviceAccount))
    return { ...address, kubernetes, url: parseClusterUrl(clusterUrlOf(IN_CLUSTER, own)).url }
  }
  if (keyword === 'kubeconfig' || address.kubeconfig) {
    if (!address.kubeconfig) throw invalid(sentence('nodes.kubeconfig_missing'))
    const access = readKubeconfig(address.kubeconfig, address.kubeconfigContext ?? null)
    const wanted = keyword === undefined ? address.url : clusterUrlOf(access.server, namespace ?? access.namespace)
    return {
      ...address,
      url: parseClusterUrl(wanted).url,
      kubernetes: {
        ...address.kubernetes,
        tokenFile: address.kubernetes.tokenFile ?? access.tokenFile,
        caFile: address.kubernetes.caFile ?? access.caFile
      },
      password: address.password || access.token,
      caCertificate: address.caCertificate || access.caCertificate,
      clientCertificate: address.clientCertificate || access.clientCertificate,
      clientKey: address.clientKey || access.clientKey,
      proxyUrl: address.proxyUrl || access.proxyUrl
    }
  }
  return { ...address, url: parseClusterUrl(address.url).url }
}

async function namespaceHere(serviceAccount: string): Promise<string> {
  try {
    return (await readFile(`${serviceAccount}/namespace`, 'utf8')).trim()
  } catch (error) {
    throw invalid(sentence('nodes.not_in_cluster'), error)
  }
}

function invalid(problem: Sentence, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('NODE_CONNECTION_INVALID', problem, { cause })
}
