import { EventEmitter } from 'node:events'
import type { NodeId } from '../../../shared/contract/index.ts'
import type { StoredNode } from '../../model/records.ts'
import { isTokenOf, nodeOfToken } from './node-token.ts'
import type { PullingNode } from './pulling-node.ts'

interface PullingNodesEvents {
  /** Something happened there: ask it at once. */
  news: [id: NodeId]
  /** A session began, with this version of Scrapyd. */
  opened: [id: NodeId, scrapyd: string]
}

/** The pulling nodes of the fleet by their tokens: what the server's door for them needs. */
export class PullingNodes {
  readonly events = new EventEmitter<PullingNodesEvents>()
  readonly #nodes = new Map<NodeId, PullingNode>()
  readonly #rowOf: (id: NodeId) => Pick<StoredNode, 'name' | 'tokenHash'> | undefined

  constructor(rowOf: (id: NodeId) => Pick<StoredNode, 'name' | 'tokenHash'> | undefined) {
    this.#rowOf = rowOf
  }

  /** It may be renamed at any time. */
  nameOf(id: NodeId): string {
    return this.#rowOf(id)?.name ?? id
  }

  /** The schemas of what nodes send; loaded when the first one connects. */
  readonly messages = () => import('./messages.ts')

  get(id: NodeId): PullingNode | undefined {
    return this.#nodes.get(id)
  }

  put(id: NodeId, node: PullingNode): PullingNode {
    this.#nodes.set(id, node)
    return node
  }

  forget(id: NodeId, node: PullingNode): void {
    if (this.#nodes.get(id) === node) this.#nodes.delete(id)
  }

  /** null: it is no valid token. Cheap, so that anybody may try. */
  authenticate(token: string): NodeId | null {
    const id = nodeOfToken(token)
    return id !== null && isTokenOf(this.#rowOf(id)?.tokenHash ?? null, token) ? id : null
  }
}
