import { isDeepStrictEqual } from 'node:util'
import pLimit from 'p-limit'
import type { JobId, NodeAddress, NodeId, NodeMode, NodeSettings, SourceId } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { actorSeesNode, refuseForeignTags, requireOnNodeOfActor } from '../../access/acting.ts'
import type { Dispatch } from '../../jobs/dispatch/dispatch.ts'
import type { LiveAttempts } from '../../jobs/dispatch/live-attempts.ts'
import type { CredentialFiles } from '../../nodes/kubernetes/credential-files.ts'
import { type Fleet, type FleetNode, noNode } from '../../nodes/fleet.ts'
import { checkCertificates } from '../../nodes/scrapyd/certificates.ts'
import { DIRECT, parseProxyUrl, refuseProxyOverSsh } from '../../nodes/scrapyd/proxy.ts'
import { parseNodeUrl } from '../../nodes/scrapyd/node-url.ts'
import { addressOfEngine } from '../../../shared/engine-address.ts'
import { nodeOfEngine } from '../../nodes/peers/engine-node-id.ts'
import type { EngineNodes } from '../../nodes/peers/engine-nodes.ts'
import { addressOfPulling, createNodeToken } from '../../nodes/pulling/node-token.ts'
import type { PullingNodes } from '../../nodes/pulling/pulling-nodes.ts'
import type { Distribution } from '../../projects/distribution.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { RunOnNode, StoredJob, StoredNode } from '../../model/records.ts'
import type { AttemptReader, JobStore, NodeStore } from '../../storage/store.ts'
import { adoptExternal, cancelExternal } from './external-jobs.ts'
import { isElsewhere, requireRightsForAddress } from './connection-rules.ts'
import { shortNameOf } from '../../../shared/ssh-address.ts'

function defaultNameOf({ kubernetes }: Pick<NodeAddress, 'kubernetes'>, url: string): string {
  // All namespaces of a cluster share its host, so use the namespace as the name.
  const namespace = kubernetes ? new URL(url).pathname.split('/').at(-2) : undefined
  return namespace ?? shortNameOf(url)
}

/** Makes node names unique: `eu-1`, `eu-1-2`, `eu-1-3` … */
class TakenNames {
  readonly #taken: Set<string>
  /** The last number per name. Without it, adding thousands of nodes with the same name would be slow. */
  readonly #numbers = new Map<string, number>()

  constructor(names: string[]) {
    this.#taken = new Set(names)
  }

  take(wanted: string): string {
    let number = this.#numbers.get(wanted) ?? 1
    let name = number === 1 ? wanted : `${wanted}-${number}`
    while (this.#taken.has(name)) name = `${wanted}-${(number += 1)}`
    this.#numbers.set(wanted, number)
    this.#taken.add(name)
    return name
  }
}

export interface NodeCommandsParts {
  store: NodeStore & JobStore & AttemptReader
  fleet: Fleet
  live: LiveAttempts
  distribution: Pick<Distribution, 'forgetNode'>
  dispatch: Pick<Dispatch, 'wake' | 'abandonNode' | 'giveUpUnresolved'>
  secretBox: SecretBox
  clock: Clock
  random: Random
  pulling: Pick<PullingNodes, 'get'>
  credentialFiles: CredentialFiles
  /** null if this is the only engine. */
  engineNodes: Pick<EngineNodes, 'isThere'> | null
  newJobId: () => JobId
}

type NewNode = NodeAddress & NodeSettings & { scrapydVersion: string | null; sourceId?: SourceId | null }

/** The number of nodes per commit. Other work runs between commits. */
const WRITTEN_AT_ONCE = 50

const CONNECTION_FIELDS = [
  'url',
  'username',
  'sealedPassword',
  'caCertificate',
  'clientCertificate',
  'sealedClientKey',
  'sealedProxyUrl',
  'kubernetes'
] as const

/**
 * Commands run one after another. Each writes a whole row, so concurrent commands would overwrite each other's
 * changes, and two commands that add the same address would create two nodes with the same slots.
 */
export class NodeCommands {
  readonly #parts: NodeCommandsParts
  readonly #exclusively = pLimit(1)
  readonly #leaving = new Map<NodeId, Promise<void>>()

  constructor(parts: NodeCommandsParts) {
    this.#parts = parts
  }

  /** The node need not respond yet. Rejects with NODE_URL_INVALID, NODE_CONNECTION_INVALID or NODE_DUPLICATE. */
  add(given: NewNode): Promise<FleetNode> {
    return this.#exclusively(async () => {
      const { store, fleet, dispatch } = this.#parts
      refuseForeignTags(null, given.tags ?? [], 'nodes.add')
      requireRightsForAddress(given)
      const input = await resolved(given, this.#parts.credentialFiles)
      this.#refuseDuplicate(parseNodeUrl(input.url).url)
      const stored = await this.#toStored(input, new TakenNames(fleet.list().map((node) => node.stored.name)))
      await store.putNode(stored)
      const node = await fleet.add(stored)
      dispatch.wake()
      return node
    })
  }

  /** Adds nodes from discovery. Skips addresses that are already in the fleet. */
  addMany(inputs: readonly NewNode[]): Promise<void> {
    return this.#exclusively(async () => {
      const { store, fleet, dispatch } = this.#parts
      const names = new TakenNames(fleet.list().map(({ stored }) => stored.name))
      const urls = new Set(fleet.list().map(({ stored }) => stored.url))
      for (let from = 0; from < inputs.length; from += WRITTEN_AT_ONCE) {
        const batch: StoredNode[] = []
        for (const input of inputs.slice(from, from + WRITTEN_AT_ONCE)) {
          const { url } = parseNodeUrl(input.url)
          if (urls.has(url)) continue
          const stored = await this.#toStored(input, names)
          urls.add(url)
          batch.push(stored)
        }
        await Promise.all(batch.map((stored) => store.putNode(stored)))
        await Promise.all(batch.map((stored) => fleet.add(stored)))
        dispatch.wake()
      }
    })
  }

  /** Detaches nodes from all discovery sources except these. The nodes then count as added by hand. */
  releaseAllBut(sourceIds: readonly string[]): Promise<void> {
    return this.#exclusively(async () => {
      const released = this.#parts.fleet
        .list()
        .filter(({ stored: { sourceId } }) => sourceId !== null && !sourceIds.includes(sourceId))
      for (let from = 0; from < released.length; from += WRITTEN_AT_ONCE) {
        const batch = released.slice(from, from + WRITTEN_AT_ONCE)
        await Promise.all(batch.map(({ stored }) => this.#put({ ...stored, sourceId: null })))
      }
    })
  }

  update(id: NodeId, input: NodeSettings & Partial<NodeAddress>): Promise<FleetNode> {
    return this.#exclusively(() => this.#update(id, input))
  }

  /** Records the version of a node that was added without a probe. */
  async recordScrapydVersion(id: NodeId, url: string, scrapydVersion: string): Promise<void> {
    await this.#exclusively(async () => {
      const stored = this.#parts.fleet.get(id)?.stored
      // If the node was removed or moved in the meantime, the version belongs to another installation.
      if (stored?.url === url && stored.scrapydVersion === null) await this.#put({ ...stored, scrapydVersion })
    })
  }

  /** Returns the node's token, which is stored only as a hash. Uses `id`, from a fleet file, if it is free. */
  addPulling(input: NodeSettings & { id?: NodeId }): Promise<{ node: FleetNode; token: string }> {
    return this.#exclusively(async () => {
      const { random } = this.#parts
      refuseForeignTags(null, input.tags ?? [], 'nodes.addPulling')
      const id = input.id ?? (`n-${random.hex(6)}` as NodeId)
      const { token, hash } = createNodeToken(id, random)
      const named = { id, name: input.name ?? id, kind: 'pulling', url: addressOfPulling(id), tokenHash: hash } as const
      return { node: await this.#addWithoutAddress(named, input), token }
    })
  }

  /** Returns the engine's existing node unchanged, or adds one. */
  addEngine(engine: string): Promise<FleetNode> {
    return this.#exclusively(async () => {
      const url = addressOfEngine(engine)
      const named = {
        id: nodeOfEngine(engine),
        name: engine,
        kind: 'engine',
        url,
        tokenHash: null
      } as const
      // The new node gets the former node's id, so wait until the former node is completely deleted.
      await this.#leaving.get(named.id)
      return this.findByUrl(url) ?? this.#addWithoutAddress(named, {})
    })
  }

  async #addWithoutAddress(
    named: Pick<StoredNode, 'id' | 'name' | 'kind' | 'url' | 'tokenHash'>,
    input: NodeSettings
  ): Promise<FleetNode> {
    const { store, fleet, dispatch, clock } = this.#parts
    const names = new TakenNames(fleet.list().map(({ stored }) => stored.name))
    const stored: StoredNode = {
      ...named,
      name: names.take(named.name),
      username: null,
      sealedPassword: null,
      caCertificate: null,
      clientCertificate: null,
      kubernetes: null,
      sealedClientKey: null,
      sealedProxyUrl: null,
      scrapydVersion: null,
      sourceId: null,
      logsKept: input.logsKept ?? null,
      mode: 'active',
      addedAtMs: clock.nowMs(),
      slots: input.slots ?? null,
      tags: input.tags ?? [],
      queueAhead: input.queueAhead ?? 0,
      giveUpAfterSeconds: input.giveUpAfterSeconds ?? null,
      group: input.group ?? null
    }
    await store.putNode(stored)
    const node = await fleet.add(stored)
    dispatch.wake()
    return node
  }

  /** Disconnects clients that use the old token. Rejects with NODE_DOES_NOT_PULL. */
  renewToken(id: NodeId): Promise<{ node: FleetNode; token: string }> {
    return this.#exclusively(async () => {
      const { token, hash } = createNodeToken(id, this.#parts.random)
      return { node: await this.#putToken(id, hash), token }
    })
  }

  revokeToken(id: NodeId): Promise<FleetNode> {
    return this.#exclusively(() => this.#putToken(id, null))
  }

  async #putToken(id: NodeId, tokenHash: string | null): Promise<FleetNode> {
    const { stored } = this.require(id)
    requireOnNodeOfActor(stored.tags, 'nodes.change', 'The token of a node')
    if (stored.kind !== 'pulling') {
      throw new ScrapdeckError('NODE_DOES_NOT_PULL', sentence('api.node_does_not_pull', { name: stored.name }))
    }
    await this.#put({ ...stored, tokenHash })
    this.#parts.pulling.get(id)?.disconnect()
    return this.require(id)
  }

  async recordReportedVersion(id: NodeId, reported: string): Promise<void> {
    const scrapydVersion = /^(\d{1,3}\.\d{1,3})(\.|$)/.exec(reported)?.[1] ?? null
    await this.#exclusively(async () => {
      const stored = this.#parts.fleet.get(id)?.stored
      if (stored !== undefined && scrapydVersion !== null && stored.scrapydVersion !== scrapydVersion) {
        await this.#put({ ...stored, scrapydVersion })
      }
    })
  }

  setMode(id: NodeId, mode: NodeMode): Promise<FleetNode> {
    return this.#exclusively(() => {
      requireOnNodeOfActor(this.require(id).stored.tags, 'nodes.operate', 'nodes.setMode')
      return this.#setMode(id, mode)
    })
  }

  /** Rejects with NODE_IS_LOCAL, or with NODE_BUSY if our jobs are live there and `force` is not set. */
  async remove(id: NodeId, options: { force: boolean }): Promise<void> {
    const { store, fleet, dispatch, distribution } = this.#parts
    const leaving = await this.#exclusively(async () => {
      const { stored } = this.require(id)
      requireOnNodeOfActor(stored.tags, 'nodes.change', 'nodes.remove')
      this.checkRemoval(id, options)
      await this.#put({ ...stored, mode: 'cordoned' })
      // Remove the node from the fleet first, so that jobs placed there but not yet sent return to the queue.
      return { done: fleet.remove(id) }
    })
    // The node can no longer be found, so other commands need not wait for the slow part.
    const forget = async () => {
      await leaving.done
      await dispatch.abandonNode(id)
      await distribution.forgetNode(id)
      await store.deleteNode(id)
    }
    const gone = forget().finally(() => this.#leaving.delete(id))
    this.#leaving.set(
      id,
      gone.catch(() => {})
    )
    await gone
  }

  checkRemoval(id: NodeId, options: { force: boolean }): void {
    const { stored } = this.require(id)
    if (stored.kind === 'local') {
      throw new ScrapdeckError('NODE_IS_LOCAL', sentence('api.local_node_not_removable'))
    }
    if (this.#parts.engineNodes?.isThere(stored.url) === true) {
      const text = sentence('api.local_node_of_engine', { name: stored.name })
      throw new ScrapdeckError('NODE_IS_LOCAL', text)
    }
    const count = this.#parts.live.ofNode(id).length
    if (count === 0 || options.force) return
    throw new ScrapdeckError('NODE_BUSY', sentence('api.jobs_live_on_node', { count, name: stored.name }), {
      data: { count }
    })
  }

  async cordonDrained(id: NodeId): Promise<void> {
    if (!this.#isDrained(id)) return
    // An earlier command in the queue may have changed the mode.
    await this.#exclusively(async () => {
      if (this.#isDrained(id)) await this.#setMode(id, 'cordoned')
    })
  }

  /** `of`: the node that has the address or is about to get it. It is not a duplicate of itself. */
  #refuseDuplicate(url: string, of?: NodeId): void {
    const duplicate = this.findByUrl(url)?.stored
    if (duplicate === undefined || duplicate.id === of) return
    if (!actorSeesNode(duplicate.tags)) {
      throw new ScrapdeckError('NODE_DUPLICATE', sentence('api.node_in_fleet', { url }))
    }
    throw new ScrapdeckError('NODE_DUPLICATE', sentence('api.node_in_fleet_as', { url, other: duplicate.name }), {
      data: { nodeId: duplicate.id }
    })
  }

  async #toStored(input: NewNode, takenNames: TakenNames): Promise<StoredNode> {
    const { secretBox, clock, random } = this.#parts
    const address = parseNodeUrl(input.url)
    const password = input.password ?? address.password
    const [caCertificate, clientCertificate] = [input.caCertificate || null, input.clientCertificate || null]
    const clientKey = input.clientKey || null
    checkCertificates({ caCertificate, clientCertificate, clientKey })
    refuseProxyOverSsh({ url: address.url, proxyUrl: input.proxyUrl || null })
    return {
      id: `n-${random.hex(6)}` as NodeId,
      name: takenNames.take(input.name ?? defaultNameOf(input, address.url)),
      kind: input.kubernetes ? 'kubernetes' : 'scrapyd',
      url: address.url,
      username: (input.username ?? address.username) || null,
      sealedPassword: password ? await secretBox.seal(password) : null,
      caCertificate,
      slots: input.slots ?? null,
      tags: input.tags ?? [],
      mode: 'active',
      scrapydVersion: input.scrapydVersion,
      addedAtMs: clock.nowMs(),
      queueAhead: input.queueAhead ?? 0,
      giveUpAfterSeconds: input.giveUpAfterSeconds ?? null,
      logsKept: input.logsKept ?? null,
      group: input.group ?? null,
      clientCertificate,
      sealedClientKey: clientKey === null ? null : await secretBox.seal(clientKey),
      sealedProxyUrl: await this.#sealProxy(input.proxyUrl || null),
      sourceId: input.sourceId ?? null,
      tokenHash: null,
      kubernetes: input.kubernetes ?? null
    }
  }

  async #update(id: NodeId, given: NodeSettings & Partial<NodeAddress>): Promise<FleetNode> {
    const { store, fleet, secretBox, dispatch } = this.#parts
    const node = this.require(id)
    refuseForeignTags(node.stored.tags, given.tags ?? node.stored.tags, 'nodes.update')
    requireRightsForAddress(given, node.stored)
    const input = await this.#resolvedFor(node, given)
    const address =
      input.url === undefined || ['local', 'engine', 'pulling'].includes(node.stored.kind)
        ? null
        : parseNodeUrl(input.url)
    if (address !== null) this.#refuseDuplicate(address.url, id)
    const movesAway = isElsewhere(node, address, input.proxyUrl)
    const proxyUrl = input.proxyUrl === undefined ? node.proxyUrl : input.proxyUrl || null
    refuseProxyOverSsh({ url: address?.url ?? node.stored.url, proxyUrl })
    const password =
      input.password === null ? '' : (input.password ?? address?.password ?? (movesAway ? '' : undefined))
    const stored: StoredNode = {
      ...node.stored,
      ...(await this.#connectionOf(node, input, movesAway)),
      name: input.name ?? node.stored.name,
      slots: input.slots === undefined ? node.stored.slots : input.slots,
      tags: input.tags ?? node.stored.tags,
      url: address?.url ?? node.stored.url,
      username: (input.username === undefined ? (address?.username ?? node.stored.username) : input.username) || null,
      sealedPassword:
        password === undefined ? node.stored.sealedPassword : password === '' ? null : await secretBox.seal(password),
      queueAhead: input.queueAhead ?? node.stored.queueAhead,
      logsKept: input.logsKept === undefined ? node.stored.logsKept : input.logsKept,
      giveUpAfterSeconds:
        input.giveUpAfterSeconds === undefined ? node.stored.giveUpAfterSeconds : input.giveUpAfterSeconds,
      group: input.group === undefined ? node.stored.group : input.group,
      kubernetes: node.stored.kind === 'kubernetes' ? (input.kubernetes ?? node.stored.kubernetes) : null
    }
    const moves = stored.url !== node.stored.url
    if (moves) {
      this.#refuseUnresolved(node)
      stored.scrapydVersion = null
    }
    await store.putNode(stored)
    // Replacing the connection aborts its requests in progress, so replace it only if it changed.
    const isSameAddress = CONNECTION_FIELDS.every((field) => isDeepStrictEqual(stored[field], node.stored[field]))
    if (isSameAddress) fleet.update(stored)
    else await fleet.add(stored)
    if (moves) await dispatch.giveUpUnresolved(id)
    dispatch.wake()
    return this.require(id)
  }

  /** Resolves a cluster's address. A node's kind cannot change: a Scrapyd never becomes a cluster. */
  async #resolvedFor<Input extends NodeSettings & Partial<NodeAddress>>(node: FleetNode, given: Input): Promise<Input> {
    const { kind, kubernetes, url } = node.stored
    if (kind !== 'kubernetes') {
      if (!given.kubernetes) return given
      throw new ScrapdeckError('NODE_CONNECTION_INVALID', sentence('api.node_not_cluster', { node: node.stored.name }))
    }
    if (given.url === undefined && given.kubernetes === undefined && !given.kubeconfig) return given
    const whole = { ...given, url: given.url ?? url, kubernetes: given.kubernetes ?? kubernetes! }
    return resolved(whole, this.#parts.credentialFiles)
  }

  /**
   * Returns the address with the certificates and the proxy that `update` would keep, for a probe before the update.
   * It never contains the node's password.
   */
  async addressLike(id: NodeId, address: NodeAddress): Promise<{ address: NodeAddress; keepsPassword: boolean }> {
    const node = this.require(id)
    requireRightsForAddress(address, node.stored)
    const { secretBox } = this.#parts
    const movesAway = isElsewhere(node, parseNodeUrl(address.url), address.proxyUrl)
    const kept = await this.#connectionOf(node, address, movesAway)
    const { caCertificate, clientCertificate, sealedClientKey: key, sealedProxyUrl: proxy } = kept
    const clientKey = key === null ? null : await secretBox.open(key)
    const proxyUrl = proxy === null || proxy === DIRECT ? proxy : await secretBox.open(proxy)
    return {
      address: { ...address, caCertificate, clientCertificate, clientKey, proxyUrl },
      keepsPassword: !movesAway
    }
  }

  /**
   * Throws NODE_BUSY if it is unknown whether jobs reached the node. At a new address, such jobs would look absent and
   * run again.
   */
  #refuseUnresolved({ stored }: FleetNode): void {
    const unresolved = this.#parts.live
      .ofNode(stored.id)
      .filter(({ state }) => state === 'sending' || state === 'uncertain').length
    if (unresolved === 0) return
    throw new ScrapdeckError('NODE_BUSY', sentence('api.arrival_unknown', { unresolved, name: stored.name }), {
      data: { unresolved }
    })
  }

  /**
   * Keeps omitted fields, except that the client certificate and its key are dropped if the node moves to another
   * machine.
   */
  async #connectionOf(
    node: FleetNode,
    input: Partial<NodeAddress>,
    movesAway: boolean
  ): Promise<Pick<StoredNode, 'caCertificate' | 'clientCertificate' | 'sealedClientKey' | 'sealedProxyUrl'>> {
    const { secretBox } = this.#parts
    const { stored } = node
    const caCertificate = input.caCertificate === undefined ? stored.caCertificate : input.caCertificate || null
    const proxy =
      // Clients see the proxy URL without credentials. If they send it back unchanged, keep the stored one.
      input.proxyUrl === undefined || input.proxyUrl === node.proxyUrl
        ? stored.sealedProxyUrl
        : await this.#sealProxy(input.proxyUrl || null)
    const isNewKey = input.clientCertificate !== undefined || input.clientKey !== undefined
    if (!isNewKey) {
      checkCertificates({ caCertificate, clientCertificate: null, clientKey: null })
      const kept = movesAway
        ? { clientCertificate: null, sealedClientKey: null }
        : { clientCertificate: stored.clientCertificate, sealedClientKey: stored.sealedClientKey }
      return { caCertificate, sealedProxyUrl: proxy, ...kept }
    }
    const keptKey = stored.sealedClientKey === null || movesAway ? null : await secretBox.open(stored.sealedClientKey)
    const clientCertificate =
      (input.clientCertificate === undefined ? stored.clientCertificate : input.clientCertificate) || null
    const clientKey = (input.clientKey === undefined && clientCertificate !== null ? keptKey : input.clientKey) || null
    checkCertificates({ caCertificate, clientCertificate, clientKey })
    return {
      caCertificate,
      sealedProxyUrl: proxy,
      clientCertificate,
      sealedClientKey: clientKey === null ? null : await secretBox.seal(clientKey)
    }
  }

  async #sealProxy(proxyUrl: string | null): Promise<StoredNode['sealedProxyUrl']> {
    if (proxyUrl === null) return null
    const parsed = parseProxyUrl(proxyUrl)
    return parsed === DIRECT ? DIRECT : this.#parts.secretBox.seal(parsed)
  }

  async #setMode(id: NodeId, mode: NodeMode): Promise<FleetNode> {
    const { dispatch, live } = this.#parts
    const { stored } = this.require(id)
    const reached = mode === 'draining' && live.ofNode(id).length === 0 ? 'cordoned' : mode
    await this.#put({ ...stored, mode: reached })
    dispatch.wake()
    return this.require(id)
  }

  async #put(stored: StoredNode): Promise<void> {
    await this.#parts.store.putNode(stored)
    this.#parts.fleet.update(stored)
  }

  #isDrained(id: NodeId): boolean {
    const { fleet, live } = this.#parts
    return fleet.get(id)?.stored.mode === 'draining' && live.ofNode(id).length === 0
  }

  /** Rejects with JOB_IS_OURS or NODE_…. */
  async cancelExternal(id: NodeId, run: RunOnNode): Promise<'pending' | 'running' | null> {
    return cancelExternal(this.require(id), run, this.#parts)
  }

  /** Adoptions are serialized, so that no job is adopted twice. Rejects with JOB_IS_OURS or EXTERNAL_JOB_GONE. */
  adoptExternal(id: NodeId, run: RunOnNode): Promise<StoredJob> {
    return this.#exclusively(() => adoptExternal(this.require(id), run, this.#parts))
  }

  require(id: NodeId): FleetNode {
    const node = this.#parts.fleet.get(id)
    if (node === undefined) throw noNode(id)
    return node
  }

  findByUrl(url: string): FleetNode | undefined {
    return this.#parts.fleet.list().find(({ stored }) => stored.url === url)
  }
}

async function resolved<Input extends Partial<NodeAddress>>(input: Input, files: CredentialFiles): Promise<Input> {
  if (!input.kubernetes || input.url === undefined) return input
  const { resolveClusterAddress } = await import('../../nodes/kubernetes/cluster-address.ts')
  return resolveClusterAddress({ ...input, url: input.url, kubernetes: input.kubernetes }, files)
}
