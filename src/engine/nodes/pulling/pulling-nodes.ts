import { EventEmitter } from 'node:events'
import type { NodeId } from '../../../shared/contract/index.ts'
import type { StoredNode } from '../../model/records.ts'
import { isTokenOf, nodeOfToken } from './node-token.ts'
import type { PullingNode } from './pulling-node.ts'

interface PullingNodesEvents {
  news: [id: NodeId]
  opened: [id: NodeId, scrapyd: string]
}

/** The pulling nodes of the fleet by their tokens, for the server's endpoint. */
export class PullingNodes {
  readonly events = new EventEmitter<PullingNodesEvents>()
  readonly #nodes = new Map<NodeId, PullingNode>()
  readonly #rowOf: (id: NodeId) => Pick<StoredNode, 'name' | 'tokenHash'> | undefined

  constructor(rowOf: (id: NodeId) => Pick<StoredNode, 'name' | 'tokenHash'> | undefined) {
    this.#rowOf = rowOf
  }

  nameOf(id: NodeId): string {
    return this.#rowOf(id)?.name ?? id
  }

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

  /** null: not a valid token. Must remain cheap, because anyone can send a token. */
  authenticate(token: string): NodeId | null {
    const id = nodeOfToken(token)
    return id !== null && isTokenOf(this.#rowOf(id)?.tokenHash ?? null, token) ? id : null
  }
}
