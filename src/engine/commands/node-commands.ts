import pLimit from 'p-limit'
import type { JobId, NodeAddress, NodeId, NodeMode, NodeSettings, SourceId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { Dispatch } from '../dispatch/dispatch.ts'
import type { LiveAttempts } from '../dispatch/live-attempts.ts'
import type { Fleet, FleetNode } from '../nodes/fleet.ts'
import { checkCertificates } from '../nodes/scrapyd/certificates.ts'
import { DIRECT, parseProxyUrl } from '../nodes/scrapyd/proxy.ts'
import { parseNodeUrl } from '../nodes/scrapyd/node-url.ts'
import type { Projects } from '../projects/projects.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import type { RunOnNode, StoredJob, StoredNode } from '../store/records.ts'
import type { AttemptReader, JobStore, NodeStore } from '../store/store.ts'
import { adoptExternal, cancelExternal } from './external-jobs.ts'

export interface NodeCommandsParts {
  store: NodeStore & JobStore & AttemptReader
  fleet: Fleet
  live: LiveAttempts
  projects: Pick<Projects, 'forgetNode'>
  dispatch: Pick<Dispatch, 'wake' | 'abandonNode' | 'giveUpUnresolved'>
  secretBox: SecretBox
  clock: Clock
  random: Random
  newJobId: () => JobId
}

/** What a discovery source says besides, and the version that the probe found. */
type NewNode = NodeAddress & NodeSettings & { scrapydVersion: string | null; sourceId?: SourceId | null }

/** Of many: one commit, and room for others between. */
const ADDED_AT_ONCE = 200

const CONNECTION_FIELDS = [
  'url',
  'username',
  'sealedPassword',
  'caCertificate',
  'clientCertificate',
  'sealedClientKey',
  'sealedProxyUrl'
] as const

/**
 * Orders about nodes, carried out one after another: each writes the whole row, so two at once would undo each other,
 * and one address added twice at once would become two nodes that share their slots.
 */
export class NodeCommands {
  readonly #parts: NodeCommandsParts
  readonly #exclusively = pLimit(1)

  constructor(parts: NodeCommandsParts) {
    this.#parts = parts
  }

  /** Rejects with NODE_URL_INVALID, NODE_CONNECTION_INVALID or NODE_DUPLICATE. The node need not respond yet. */
  add(input: NewNode): Promise<FleetNode> {
    return this.#exclusively(async () => {
      const { store, fleet, dispatch } = this.#parts
      this.#refuseDuplicate(parseNodeUrl(input.url).url)
      const stored = await this.#toStored(input, new Set(fleet.list().map((node) => node.stored.name)))
      await store.putNode(stored)
      const node = await fleet.add(stored)
      dispatch.wake()
      return node
    })
  }

  /** As discovery finds them: those whose address is in the fleet already are passed over. */
  addMany(inputs: readonly NewNode[]): Promise<void> {
    return this.#exclusively(async () => {
      const { store, fleet, dispatch } = this.#parts
      const names = new Set(fleet.list().map(({ stored }) => stored.name))
      const urls = new Set(fleet.list().map(({ stored }) => stored.url))
      for (let from = 0; from < inputs.length; from += ADDED_AT_ONCE) {
        const batch: StoredNode[] = []
        for (const input of inputs.slice(from, from + ADDED_AT_ONCE)) {
          const { url } = parseNodeUrl(input.url)
          if (urls.has(url)) continue
          const stored = await this.#toStored(input, names)
          urls.add(url)
          names.add(stored.name)
          batch.push(stored)
        }
        await Promise.all(batch.map((stored) => store.putNode(stored)))
        await Promise.all(batch.map((stored) => fleet.add(stored)))
        dispatch.wake()
      }
    })
  }

  /** Nodes of other discovery sources belong to no source from now on, as if they had been added by hand. */
  releaseAllBut(sourceIds: readonly string[]): Promise<void> {
    return this.#exclusively(async () => {
      for (const { stored } of this.#parts.fleet.list()) {
        if (stored.sourceId !== null && !sourceIds.includes(stored.sourceId))
          await this.#put({ ...stored, sourceId: null })
      }
    })
  }

  update(id: NodeId, input: NodeSettings & Partial<NodeAddress>): Promise<FleetNode> {
    return this.#exclusively(() => this.#update(id, input))
  }

  /** What a probe of its address found out: of nodes that nobody probed before they were added. */
  async recordScrapydVersion(id: NodeId, url: string, scrapydVersion: string): Promise<void> {
    await this.#exclusively(async () => {
      const stored = this.#parts.fleet.get(id)?.stored
      // Removed or moved meanwhile: it was another installation that answered.
      if (stored?.url === url && stored.scrapydVersion === null) await this.#put({ ...stored, scrapydVersion })
    })
  }

  setMode(id: NodeId, mode: NodeMode): Promise<FleetNode> {
    return this.#exclusively(() => this.#setMode(id, mode))
  }

  /** Rejects with NODE_IS_LOCAL, or with NODE_BUSY while jobs of ours are live there and `force` is not set. */
  remove(id: NodeId, options: { force: boolean }): Promise<void> {
    return this.#exclusively(async () => {
      const { store, fleet, dispatch, projects } = this.#parts
      const { stored } = this.require(id)
      this.checkRemoval(id, options)
      await this.#put({ ...stored, mode: 'cordoned' })
      // Out of the fleet first: what the dispatcher has placed there and not yet sent goes back to the queue by itself.
      await fleet.remove(id)
      await dispatch.abandonNode(id)
      await store.deleteNode(id)
      await projects.forgetNode(id)
    })
  }

  /** What remove would refuse at this moment, with its codes. */
  checkRemoval(id: NodeId, options: { force: boolean }): void {
    const { stored } = this.require(id)
    if (stored.kind === 'local') {
      throw new ScrapdeckError(
        'NODE_IS_LOCAL',
        'The local node is part of Scrapdeck and cannot be removed; cordon it so that it gets no jobs'
      )
    }
    const count = this.#parts.live.ofNode(id).length
    if (count === 0 || options.force) return
    throw new ScrapdeckError(
      'NODE_BUSY',
      `${count} Scrapdeck ${count === 1 ? 'job is' : 'jobs are'} still live on ${stored.name}. Drain the node first, or force the removal: the jobs are then marked lost`,
      { data: { count } }
    )
  }

  /** A drained node is cordoned once nothing of ours is left there. */
  async cordonDrained(id: NodeId): Promise<void> {
    if (!this.#isDrained(id)) return
    // Its mode may have been changed by an order that came first.
    await this.#exclusively(async () => {
      if (this.#isDrained(id)) await this.#setMode(id, 'cordoned')
    })
  }

  /** `of`: the node that has the address, or is to get it. */
  #refuseDuplicate(url: string, of?: NodeId): void {
    const duplicate = this.findByUrl(url)?.stored
    if (duplicate === undefined || duplicate.id === of) return
    throw new ScrapdeckError('NODE_DUPLICATE', `${url} is already in the fleet as ${duplicate.name}; edit that one`, {
      data: { nodeId: duplicate.id }
    })
  }

  async #toStored(input: NewNode, takenNames: ReadonlySet<string>): Promise<StoredNode> {
    const { secretBox, clock, random } = this.#parts
    const address = parseNodeUrl(input.url)
    const password = input.password ?? address.password
    const [caCertificate, clientCertificate] = [input.caCertificate || null, input.clientCertificate || null]
    const clientKey = input.clientKey || null
    checkCertificates({ caCertificate, clientCertificate, clientKey })
    return {
      id: `n-${random.hex(6)}` as NodeId,
      name: freeName(input.name ?? new URL(address.url).host, takenNames),
      kind: 'scrapyd',
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
      group: input.group ?? null,
      clientCertificate,
      sealedClientKey: clientKey === null ? null : await secretBox.seal(clientKey),
      sealedProxyUrl: await this.#sealProxy(input.proxyUrl || null),
      sourceId: input.sourceId ?? null
    }
  }

  async #update(id: NodeId, input: NodeSettings & Partial<NodeAddress>): Promise<FleetNode> {
    const { store, fleet, secretBox, dispatch } = this.#parts
    const node = this.require(id)
    const address = input.url === undefined || node.stored.kind === 'local' ? null : parseNodeUrl(input.url)
    if (address !== null) this.#refuseDuplicate(address.url, id)
    // A password, or a key, belongs to the machine it was entered for: it never travels to another address by itself.
    const movesAway = address !== null && new URL(address.url).origin !== new URL(node.stored.url).origin
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
      giveUpAfterSeconds:
        input.giveUpAfterSeconds === undefined ? node.stored.giveUpAfterSeconds : input.giveUpAfterSeconds,
      group: input.group === undefined ? node.stored.group : input.group
    }
    const moves = stored.url !== node.stored.url
    if (moves) {
      this.#refuseUnresolved(node)
      stored.scrapydVersion = null
    }
    await store.putNode(stored)
    // A new connection gives up what is on its way over the old one: only when it must be.
    const isSameAddress = CONNECTION_FIELDS.every((field) => stored[field] === node.stored[field])
    if (isSameAddress) fleet.update(stored)
    else await fleet.add(stored)
    if (moves) await dispatch.giveUpUnresolved(id)
    dispatch.wake()
    return this.require(id)
  }

  /** At another address nobody could see whether they arrived: they would count as absent, and run twice unflagged. */
  #refuseUnresolved({ stored }: FleetNode): void {
    const unresolved = this.#parts.live
      .ofNode(stored.id)
      .filter(({ state }) => state === 'sending' || state === 'uncertain').length
    if (unresolved === 0) return
    throw new ScrapdeckError(
      'NODE_BUSY',
      `It is not known yet whether ${unresolved === 1 ? 'a job' : `${unresolved} jobs`} arrived at ${stored.name}, and at another address nobody could tell. Try again in a few seconds; if it does not answer, first run ${unresolved === 1 ? 'it' : 'them'} elsewhere`,
      { data: { unresolved } }
    )
  }

  /** Certificates and proxy after an update: what it does not name stays, but a key only at its own address. */
  async #connectionOf(
    node: FleetNode,
    input: Partial<NodeAddress>,
    movesAway: boolean
  ): Promise<Pick<StoredNode, 'caCertificate' | 'clientCertificate' | 'sealedClientKey' | 'sealedProxyUrl'>> {
    const { secretBox } = this.#parts
    const { stored } = node
    const caCertificate = input.caCertificate === undefined ? stored.caCertificate : input.caCertificate || null
    const proxy =
      // What is shown has no credentials: given back as it was shown, it means the same proxy.
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
    // A renewed certificate for the same key needs no key again.
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
    // A drain with nothing left to wait for is done.
    const reached = mode === 'draining' && live.ofNode(id).length === 0 ? 'cordoned' : mode
    await this.#put({ ...stored, mode: reached })
    dispatch.wake()
    return this.require(id)
  }

  /** For what needs no new connection. */
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

  /** One after another: a job is adopted once. Rejects with JOB_IS_OURS or EXTERNAL_JOB_GONE. */
  adoptExternal(id: NodeId, run: RunOnNode): Promise<StoredJob> {
    return this.#exclusively(() => adoptExternal(this.require(id), run, this.#parts))
  }

  require(id: NodeId): FleetNode {
    const node = this.#parts.fleet.get(id)
    if (node === undefined)
      throw new ScrapdeckError('NODE_NOT_FOUND', `There is no node ${id}; it may have been removed`)
    return node
  }

  findByUrl(url: string): FleetNode | undefined {
    return this.#parts.fleet.list().find(({ stored }) => stored.url === url)
  }
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted
  for (let number = 2; ; number += 1) if (!taken.has(`${wanted}-${number}`)) return `${wanted}-${number}`
}
