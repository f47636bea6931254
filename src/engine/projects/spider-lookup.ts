import type { NodeId, ProjectName, VersionName } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/projects.ts'
import { type Clock, within } from '../runtime/clock.ts'
import type { StoredVersion } from '../model/records.ts'
import type { Distribution, EggReceiver } from './distribution.ts'
import type { Projects } from './projects.ts'
import { KeyedSingleFlight } from '../runtime/single-flight.ts'
import { withoutStop } from '../../shared/texts/parts.ts'

export interface ListingNode {
  id: NodeId
  name: string
  isActive: boolean
  client: Pick<EggReceiver, 'listSpiders'>
}

export interface SpiderLookupOptions {
  projects: Pick<Projects, 'catalog' | 'recordSpiders'>
  distribution: Pick<Distribution, 'isPresent' | 'ensure'>
  nodes: () => ListingNode[]
  /** The node's message if it could not import the code; null for other errors. */
  importErrorOf: (error: unknown) => string | null
  /** Scrapyd does not respond to polls while it imports code. Polls during `call` must not count as failed. */
  duringLongCall: <T>(nodeId: NodeId, call: Promise<T>) => Promise<T>
  clock: Clock
}

/** The maximum number of nodes to try, one after the other. Nodes with a version of the project come first. */
const NODES_MAX = 10
/** How long a client waits. The search continues, and a repeated request finds its result. */
const WAIT_MS = 60_000

/**
 * Finds spiders without a local Python: asks nodes that have the version, or sends the egg to one node after another.
 * Concurrent requests for a version share one search.
 */
export class SpiderLookup {
  readonly #options: SpiderLookupOptions
  readonly #searches = new KeyedSingleFlight<string, string[]>()

  constructor(options: SpiderLookupOptions) {
    this.#options = options
  }

  /**
   * Rejects with EGG_IMPORT_FAILED if no queried node can import the code (`data.stderr`: the first node's output),
   * otherwise with SPIDERS_UNKNOWN.
   */
  async find(project: ProjectName, version: VersionName): Promise<string[]> {
    const stored = this.#options.projects.catalog.requireVersion(project, version)
    if (stored.spiders !== null) return stored.spiders
    const key = JSON.stringify([project, stored.version, stored.sha256])
    const search = this.#searches.run(key, () => this.#search(stored))
    return within(this.#options.clock, WAIT_MS, search, () => {
      throw unknown(stored, `no node answered within ${WAIT_MS / 1000} seconds`)
    })
  }

  async #search(stored: StoredVersion): Promise<string[]> {
    const { project, version } = stored
    const nodes = this.#nodesFor(stored)
    let refused: { name: string; output: string } | null = null
    let other: string | null = null
    for (const node of nodes) {
      try {
        const spiders = await this.#options.duringLongCall(node.id, this.#listOn(node, stored))
        await this.#options.projects.recordSpiders(stored, spiders)
      } catch (error) {
        const output = this.#options.importErrorOf(error)
        if (output === null) other ??= error instanceof Error ? error.message : String(error)
        else refused ??= { name: node.name, output }
        continue
      }
      return this.find(project, version)
    }
    if (refused === null || other !== null) {
      const reason =
        other ?? (stored.sha256 === null ? 'no node that has it responds' : 'no node responds and takes eggs')
      throw unknown(stored, reason)
    }
    const { name, output } = refused
    const end = output.split('\n').slice(-20).join('\n')
    throw new ScrapdeckError('EGG_IMPORT_FAILED', sentence('projects.import_failed', { name, end }), {
      data: { stderr: end, node: name }
    })
  }

  /** Nodes with this version first, then nodes with another version, which probably have its dependencies. */
  #nodesFor(stored: StoredVersion): ListingNode[] {
    const { projects, distribution, nodes } = this.#options
    const versions = projects.catalog.ascending(stored.project)
    const before = new Set(versions.flatMap(({ deployments }) => deployments.map(({ nodeId }) => nodeId)))
    const rankOf = ({ id }: ListingNode) =>
      distribution.isPresent(id, stored.project, stored.version) ? 0 : before.has(id) ? 1 : 2
    return nodes()
      .map((node) => ({ node, rank: rankOf(node) }))
      .filter(({ node, rank }) => rank === 0 || (node.isActive && stored.sha256 !== null))
      .sort((one, other) => one.rank - other.rank)
      .slice(0, NODES_MAX)
      .map(({ node }) => node)
  }

  async #listOn({ id, client }: ListingNode, { project, version }: StoredVersion): Promise<string[]> {
    await this.#options.distribution.ensure(id, project, version)
    return this.#options.projects.catalog.find(project, version)?.spiders ?? client.listSpiders(project, version)
  }
}

function unknown({ project, version }: StoredVersion, reason: string): ScrapdeckError {
  return new ScrapdeckError(
    'SPIDERS_UNKNOWN',
    sentence('projects.spiders_unknown', { version, project, reason: withoutStop(reason) })
  )
}
