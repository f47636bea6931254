import type { ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { type Message, say } from '../../../shared/texts/message.ts'
import { type NodeClient, NodeError, type ScheduleRequest } from '../node-client.ts'
import { failure } from '../node-failure.ts'
import { KUBERNETES_TRAITS } from '../node-traits.ts'
import { KubernetesClient, type KubernetesClientOptions } from './kubernetes-client.ts'

/** Opens a cluster. If its CA file is unreadable, the client contacts the cluster as soon as the file is readable. */
export async function openCluster(options: KubernetesClientOptions): Promise<NodeClient> {
  try {
    return await KubernetesClient.open(options)
  } catch (error) {
    if (!(error instanceof NodeError)) throw error
    options.logger.warn({ node: options.name, error }, 'a cluster is not contacted while its CA file cannot be read')
    return new UnopenedCluster(options)
  }
}

/**
 * Sends nothing without the cluster's CA, because the token would go to any server with a certificate that this
 * machine trusts. Each request tries to read the file again, because it may be mounted later.
 */
class UnopenedCluster implements NodeClient {
  readonly traits = KUBERNETES_TRAITS
  readonly eggTarget = null
  readonly #options: KubernetesClientOptions
  #opening: Promise<KubernetesClient> | null = null
  #opened: KubernetesClient | null = null
  #onChange: (() => void) | null = null
  #isClosed = false

  constructor(options: KubernetesClientOptions) {
    this.#options = options
  }

  whyPending(jobid: string): Message | null {
    return this.#opened?.whyPending(jobid) ?? null
  }

  watchJobs(onChange: () => void): void {
    this.#onChange = onChange
    this.#opened?.watchJobs(onChange)
  }

  release(isNeeded: (jobid: string) => boolean): void {
    this.#opened?.release(isNeeded)
  }

  async daemonStatus(signal?: AbortSignal) {
    return (await this.#open()).daemonStatus(signal)
  }

  async listJobs(signal?: AbortSignal) {
    return (await this.#open()).listJobs(signal)
  }

  async schedule(request: ScheduleRequest, signal?: AbortSignal) {
    return (await this.#open()).schedule(request, signal)
  }

  async cancel(...asked: Parameters<NodeClient['cancel']>) {
    return (await this.#open()).cancel(...asked)
  }

  async listSpiders(project: ProjectName, version: VersionName) {
    return (await this.#open()).listSpiders(project, version)
  }

  async readLog(...asked: Parameters<NodeClient['readLog']>) {
    return (await this.#open()).readLog(...asked)
  }

  async readItems() {
    return (await this.#open()).readItems()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const opened = await this.#opening?.catch(() => null)
    await opened?.close()
  }

  #open(): Promise<KubernetesClient> {
    if (this.#opened === null && this.#isClosed) {
      const { name } = this.#options
      return Promise.reject(failure('aborted', say('node_error.removed_or_changed', { label: name }), 'no'))
    }
    this.#opening ??= this.#openNow().catch((error: unknown) => {
      this.#opening = null
      throw error
    })
    return this.#opening
  }

  async #openNow(): Promise<KubernetesClient> {
    const client = await KubernetesClient.open(this.#options)
    this.#opened = client
    if (this.#onChange !== null && !this.#isClosed) client.watchJobs(this.#onChange)
    return client
  }
}
