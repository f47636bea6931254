import { EventEmitter } from 'node:events'
import pLimit from 'p-limit'
import {
  type NodeId,
  type NodeMode,
  type SealedText,
  type SourceId,
  SourceSettings,
  type SourceState
} from '../../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import { requireOwnerForFile } from '../../access/acting.ts'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Random } from '../../runtime/random.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { VanishedNode } from '../../model/records.ts'
import type { DiscoveryStore } from '../../storage/store.ts'
import { checkSource } from './check-source.ts'
import { type Answer, type FoundNode, readNodeLines } from './found-node.ts'
import type { NameResolver } from './name-resolver.ts'
import { readNodeFile, watchNodeFile } from './node-file.ts'
import { type KnownNode, NODES_MAX, planDiscovery, type Vanished } from './plan-discovery.ts'
import { readDns } from './read-dns.ts'

/** A source in the configuration file, where the password is plain text. */
export type ConfiguredSource = SourceSettings & { password?: string | null }

/** The part of the fleet that discovery uses. All methods ignore nodes that no longer exist. */
export interface DiscoveredFleet {
  list(): KnownNode[]
  /** Skips nodes that are already in the fleet. */
  add(nodes: (FoundNode & { sourceId: SourceId })[]): Promise<void>
  setMode(nodeId: NodeId, mode: NodeMode): Promise<void>
  /** Detaches the nodes of all other sources. */
  releaseAllBut(sourceIds: readonly string[]): Promise<void>
}

export interface DiscoveryOptions {
  store: DiscoveryStore
  fleet: DiscoveredFleet
  resolver: NameResolver
  secretBox: SecretBox
  configured: readonly ConfiguredSource[]
  clock: Clock
  random: Random
  logger: Logger
}

/** The pause after a file change. Writers often make several changes in a row. */
const FILE_SETTLES_MS = 300
/**
 * Each refresh comes earlier or later by up to this share of the interval, at random, so that sources that were created
 * together do not always refresh together.
 */
const JITTER_SHARE = 0.1
const PROBLEMS_SHOWN = 3

interface Source {
  revision: number
  settings: SourceSettings
  sealedPassword: SealedText | null
  /** Comes from the configuration and is never stored. */
  password: string | null
  isFromConfiguration: boolean
  refreshedAtMs: number | null
  problem: string | null
  /** Describes how many listed nodes were not added because of NODES_MAX. null: none. */
  excess: string | null
  /** The last successful result. null: none since startup. */
  found: readonly FoundNode[] | null
  isPartial: boolean
  timer: Timer | null
  fileTimer: Timer | null
  watcher: { close(): void } | null
  refreshing: Promise<void> | null
}

/**
 * Keeps the fleet in sync with its sources: reads each source at its interval (a file also when it changes), plans
 * changes from the results of all sources, and applies them. A source that fails keeps its last result.
 */
export class Discovery {
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #options: DiscoveryOptions
  readonly #sources = new Map<SourceId, Source>()
  #vanished = new Map<NodeId, Vanished>()
  readonly #inTurn = pLimit(1)
  #isStopped = false

  constructor(options: DiscoveryOptions) {
    this.#options = options
  }

  /** Resolves before the first results arrive. */
  async start(): Promise<void> {
    const { store, configured, fleet, logger } = this.#options
    const vanished = await store.listVanishedNodes()
    this.#vanished = new Map(vanished.map(({ nodeId, ...one }) => [nodeId, one]))
    for (const { settings, ...kept } of await store.listSources()) this.#add(SourceSettings.parse(settings), kept)
    for (const { password = null, ...settings } of configured) {
      if (this.#sources.has(settings.id)) {
        logger.warn({ source: settings.id }, 'a configured source replaces the source with the same name from the UI')
      }
      this.#add(SourceSettings.parse(settings), { password, isFromConfiguration: true })
    }
    await fleet.releaseAllBut([...this.#sources.keys()])
    for (const source of this.#sources.values()) this.#begin(source)
  }

  /** Resolves when no plan is being applied. Results that arrive later change nothing. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const source of this.#sources.values()) this.#end(source)
    await this.#inTurn(() => {})
  }

  list(): SourceState[] {
    return [...this.#sources.values()].map((source) => this.#describe(source))
  }

  get(id: SourceId): SourceState {
    return this.#describe(this.#require(id))
  }

  /** `password` undefined: keeps the password if `settings.source` is unchanged. Rejects with BAD_INPUT. */
  async put(settings: SourceSettings, password: string | null | undefined): Promise<SourceState> {
    checkSource(settings)
    const before = this.#sources.get(settings.id)
    if (before?.isFromConfiguration) throw inConfiguration(settings.id)
    const isSame = before !== undefined && JSON.stringify(before.settings.source) === JSON.stringify(settings.source)
    if (!isSame) requireOwnerForFile(settings)
    const kept = isSame ? before.sealedPassword : null
    const sealedPassword =
      password === undefined ? kept : password ? await this.#options.secretBox.seal(password) : null
    const revision = (before?.revision ?? 0) + 1
    await this.#options.store.putSource({ revision, settings, sealedPassword })
    if (before !== undefined) this.#end(before)
    const source = this.#add(settings, { sealedPassword, revision })
    if (isSame) Object.assign(source, { found: before.found, isPartial: before.isPartial, excess: before.excess })
    this.#begin(source)
    await source.refreshing
    return this.#describe(source)
  }

  async remove(id: SourceId): Promise<void> {
    const source = this.#require(id)
    if (source.isFromConfiguration) throw inConfiguration(id)
    await this.#options.store.deleteSource(id)
    this.#end(source)
    this.#sources.delete(id)
    await this.#inTurn(async () => {
      await this.#options.fleet.releaseAllBut([...this.#sources.keys()])
      await this.#forgetOthers()
    })
    this.events.emit('changed')
  }

  async refresh(id: SourceId): Promise<SourceState> {
    const source = this.#require(id)
    // The refresh in progress may have started before the caller's change.
    await source.refreshing
    await this.#refresh(source)
    return this.#describe(source)
  }

  #add(settings: SourceSettings, values: Partial<Source>): Source {
    const source: Source = {
      settings,
      revision: 0,
      sealedPassword: null,
      password: null,
      isFromConfiguration: false,
      refreshedAtMs: null,
      problem: null,
      excess: null,
      found: null,
      isPartial: false,
      timer: null,
      fileTimer: null,
      watcher: null,
      refreshing: null,
      ...values
    }
    this.#sources.set(settings.id, source)
    return source
  }

  #begin(source: Source): void {
    const { source: from } = source.settings
    if (from.kind === 'file') source.watcher = watchNodeFile(from.path, () => this.#scheduleFileRefresh(source))
    void this.#refresh(source)
  }

  #end(source: Source): void {
    source.timer?.cancel()
    source.fileTimer?.cancel()
    source.watcher?.close()
    source.watcher = null
  }

  #scheduleFileRefresh(source: Source): void {
    if (this.#isStopped || source.fileTimer !== null) return
    source.fileTimer = this.#options.clock.setTimer(FILE_SETTLES_MS, () => {
      source.fileTimer = null
      void (source.refreshing ?? Promise.resolve()).then(() => this.#refresh(source))
    })
  }

  #refresh(source: Source): Promise<void> {
    source.refreshing ??= this.#refreshOnce(source).finally(() => {
      source.refreshing = null
      this.#arm(source)
    })
    return source.refreshing
  }

  #arm(source: Source): void {
    const { clock, random } = this.#options
    source.timer?.cancel()
    if (this.#isStopped || this.#sources.get(source.settings.id) !== source) return
    const delayMs = source.settings.refreshSeconds * 1000 * (1 - JITTER_SHARE + 2 * JITTER_SHARE * random.next())
    source.timer = clock.setTimer(delayMs, () => void this.#refresh(source))
  }

  async #refreshOnce(source: Source): Promise<void> {
    const { clock, logger } = this.#options
    const { id } = source.settings
    const problemBefore = problemShown(source)
    try {
      const { nodes, problems } = await this.#ask(source)
      if (this.#isStopped) return
      if (nodes.length > 0) Object.assign(source, { found: nodes, isPartial: problems.length > 0 })
      source.problem = problemOf(nodes.length, problems)
      await this.#inTurn(() => this.#carryOut())
    } catch (error) {
      source.problem = isScrapdeckError(error) ? error.message : `It could not be read: ${String(error)}`
      if (!isScrapdeckError(error)) logger.error({ source: id, error }, 'a source of nodes failed')
    }
    source.refreshedAtMs = clock.nowMs()
    const problem = problemShown(source)
    if (problem !== null && problem !== problemBefore) {
      logger.warn({ source: id, problem }, 'a source of nodes has a problem')
    }
    if (!this.#isStopped) this.events.emit('changed')
  }

  async #ask({ settings: { source } }: Source): Promise<Answer> {
    if (source.kind === 'dns') return readDns(source, this.#options.resolver)
    if (source.kind === 'list') return readNodeLines(source.nodes, { passwords: false })
    return readNodeLines(await readNodeFile(source.path, this.#options.clock))
  }

  async #carryOut(): Promise<void> {
    const { fleet, clock, logger } = this.#options
    if (this.#isStopped) return
    await this.#forgetOthers()
    const answers = [...this.#sources].map(([sourceId, { found, isPartial }]) => ({
      sourceId,
      nodes: found,
      isPartial
    }))
    const plan = planDiscovery({ answers, known: fleet.list(), vanished: this.#vanished })
    for (const [sourceId, source] of this.#sources) source.excess = excessOf(plan.leftOut.get(sourceId) ?? 0)
    if (plan.add.length > 0) {
      const added = await Promise.all(plan.add.map(({ sourceId, node }) => this.#completed(sourceId, node)))
      await fleet.add(added)
      logger.info({ nodes: plan.add.length }, 'discovery added nodes')
    }
    if (plan.vanish.length === 0 && plan.comeBack.length === 0) return
    // Recorded before and after the change, so that the next engine can finish the change after a crash.
    await this.#markVanished(
      plan.vanish.map(({ nodeId, cordon }) => {
        const sinceMs = this.#vanished.get(nodeId)?.sinceMs ?? clock.nowMs()
        return { nodeId, sinceMs, state: cordon ? 'cordoning' : 'left' }
      })
    )
    const cordoned: VanishedNode[] = []
    for (const { nodeId, cordon } of plan.vanish) {
      if (!cordon) continue
      await fleet.setMode(nodeId, 'cordoned')
      cordoned.push({ nodeId, sinceMs: this.#vanished.get(nodeId)!.sinceMs, state: 'cordoned' })
      logger.info({ node: nodeId }, 'a node was cordoned because its source no longer lists it')
    }
    await this.#markVanished(cordoned)
    for (const { nodeId, activate } of plan.comeBack) if (activate) await fleet.setMode(nodeId, 'active')
    await this.#forgetVanished(plan.comeBack.map(({ nodeId }) => nodeId))
  }

  async #completed(sourceId: SourceId, node: FoundNode): Promise<FoundNode & { sourceId: SourceId }> {
    const source = this.#sources.get(sourceId)!
    const { node: common, username } = source.settings
    const password = node.password ?? source.password ?? (await this.#openPassword(source))
    return {
      sourceId,
      ...(common.slots == null ? {} : { slots: common.slots }),
      ...(common.group == null ? {} : { group: common.group }),
      ...(common.queueAhead === undefined ? {} : { queueAhead: common.queueAhead }),
      ...(username == null ? {} : { username, ...(password === null ? {} : { password }) }),
      ...node,
      tags: [...new Set([...(common.tags ?? []), ...(node.tags ?? [])])]
    }
  }

  async #openPassword({ sealedPassword, settings }: Source): Promise<string | null> {
    if (sealedPassword === null) return null
    try {
      return await this.#options.secretBox.open(sealedPassword)
    } catch (error) {
      this.#options.logger.warn(
        { source: settings.id, error },
        'the password of a source cannot be read here; enter it again'
      )
      return null
    }
  }

  async #forgetOthers(): Promise<void> {
    const found = new Set(this.#options.fleet.list().flatMap(({ id, sourceId }) => (sourceId === null ? [] : [id])))
    const gone = [...this.#vanished.keys()].filter((nodeId) => !found.has(nodeId))
    await this.#forgetVanished(gone)
  }

  #describe(source: Source): SourceState {
    const { settings, isFromConfiguration, refreshedAtMs, found } = source
    const nodes = this.#options.fleet.list().filter(({ sourceId }) => sourceId === settings.id)
    const vanishedNodes = nodes.flatMap(({ id, mode }) => {
      const missed = this.#vanished.get(id)
      if (missed === undefined) return []
      return [{ nodeId: id, sinceMs: missed.sinceMs, isCordonedForIt: missed.state !== 'left' && mode === 'cordoned' }]
    })
    return {
      ...settings,
      hasPassword: source.sealedPassword !== null || source.password !== null,
      isFromConfiguration,
      refreshedAtMs,
      problem: problemShown(source),
      found: found?.length ?? 0,
      vanished: vanishedNodes.length,
      vanishedNodes
    }
  }

  #require(id: SourceId): Source {
    const source = this.#sources.get(id)
    if (source === undefined) {
      throw new ScrapdeckError('NOT_FOUND', sentence('nodes.no_node_source', { id }))
    }
    return source
  }

  async #markVanished(nodes: VanishedNode[]): Promise<void> {
    if (nodes.length > 0) await this.#options.store.putVanishedNodes(nodes)
    for (const { nodeId, ...one } of nodes) this.#vanished.set(nodeId, one)
  }

  async #forgetVanished(nodeIds: NodeId[]): Promise<void> {
    if (nodeIds.length > 0) await this.#options.store.deleteVanishedNodes(nodeIds)
    for (const nodeId of nodeIds) this.#vanished.delete(nodeId)
  }
}

/** Checks the configured lists at startup. Throws one BAD_INPUT error that names all unreadable lines. */
export function checkConfiguredSources(sources: readonly ConfiguredSource[]): void {
  const problems = sources.flatMap(({ source }) =>
    source.kind === 'list' ? readNodeLines(source.nodes, { passwords: false }).problems : []
  )
  if (problems.length === 0) return
  throw new ScrapdeckError('BAD_INPUT', problems.map((problem) => `[scrapdeck] nodes: ${problem}.`).join('\n'))
}

function problemOf(nodes: number, problems: readonly string[]): string | null {
  if (problems.length === 0) return nodes > 0 ? null : 'It lists no nodes. The nodes it listed before are unchanged.'
  const shown = problems.slice(0, PROBLEMS_SHOWN).join('; ')
  const rest = problems.length > PROBLEMS_SHOWN ? `; and ${problems.length - PROBLEMS_SHOWN} more` : ''
  const others =
    nodes > 0
      ? 'The rest is used, and no node is cordoned until this is fixed.'
      : 'None of it could be used; the nodes it listed before are unchanged.'
  return `${shown}${rest}. ${others}`
}

function excessOf(leftOut: number): string | null {
  if (leftOut === 0) return null
  const [count, ofSource, inAll] = [leftOut, NODES_MAX.ofSource, NODES_MAX.inAll].map((one) =>
    one.toLocaleString('en-US')
  )
  const nodes = leftOut === 1 ? 'node that it lists was' : 'nodes that it lists were'
  return `${count} ${nodes} not added: a source may have ${ofSource} nodes, and sources add none to a fleet of ${inAll}. Correct what it lists, or remove nodes that are no longer needed.`
}

function problemShown({ problem, excess }: Pick<Source, 'problem' | 'excess'>): string | null {
  return problem === null || excess === null ? (problem ?? excess) : `${problem} ${excess}`
}

function inConfiguration(id: SourceId): ScrapdeckError {
  return new ScrapdeckError('BAD_INPUT', sentence('nodes.source_in_configuration', { id }))
}
