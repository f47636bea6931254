import type { NodeAddress } from '../../../shared/contract/index.ts'
import { writtenAs } from '../../../shared/texts/message.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { healthOf, NodeError } from '../node-client.ts'
import type { createConnection } from '../scrapyd/connection.ts'
import { connectionOf, type ProbedNode, unreachedNode } from '../scrapyd/probe.ts'
import { KubernetesClient } from './kubernetes-client.ts'
import type { ClusterAddress } from './cluster-address.ts'
import type { CredentialFiles } from './credential-files.ts'

/** Like probeNode, but for a namespace of a cluster. Also checks the permissions. */
export async function probeCluster(options: {
  address: NodeAddress & ClusterAddress
  clock: Clock
  logger: Logger
  files: CredentialFiles
  connect?: typeof createConnection | undefined
}): Promise<ProbedNode> {
  const { address, clock, logger, files, connect } = options
  const parts = { url: address.url, ...connectionOf(address) }
  const result = unreachedNode(address.url, warningsFor(address))
  let client: KubernetesClient | null = null
  try {
    client = await KubernetesClient.open({
      ...parts,
      // No Job has this label, so a probe lists none.
      nodeId: 'probe',
      name: new URL(address.url).hostname,
      settings: address.kubernetes,
      files,
      token: address.password || null,
      directory: '',
      clock,
      logger,
      connect
    })
    await client.checkRights()
    const begunAtMs = clock.monotonicMs()
    const status = await client.daemonStatus()
    result.latencyMs = Math.round(clock.monotonicMs() - begunAtMs)
    result.reachable = true
    result.nodeName = status.nodeName
    result.running = status.running
    result.pending = status.pending
    result.clockOffsetMs = status.clockOffsetMs
    result.health = 'up'
  } catch (error) {
    if (!(error instanceof NodeError)) throw error
    result.health = healthOf(error)
    result.reachable = result.health === 'unauthorized' || result.health === 'invalid'
    Object.assign(result, writtenAs('problem', error.said))
  } finally {
    await client?.close()
  }
  return result
}

function warningsFor({ kubernetes: { pod, projects, engineUrl } }: ClusterAddress): string[] {
  const warnings: string[] = []
  if (pod.image === undefined && Object.values(projects).every(({ image }) => image === undefined)) {
    warnings.push('No image is set, so no job can run there yet.')
  }
  if (engineUrl === null && pod.settingsModule === undefined) {
    warnings.push('Pods have no address of this Scrapdeck (engineUrl): only projects that are in their image can run.')
  }
  if (engineUrl?.startsWith('http:')) {
    warnings.push('Pods fetch eggs without encryption: others on the network of the cluster can read them.')
  }
  return warnings
}
