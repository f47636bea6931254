import type { FastifyRequest } from 'fastify'
import { abandon } from '../http2-requests.ts'
import { MAX_TEXT_BYTES, NODE_MESSAGE_BYTES } from '../limits.ts'
import { isNodeRoute } from '../nodes/node-endpoints.ts'

type Raw = FastifyRequest['raw']

/**
 * A body stays in memory until it is complete, and a client with credentials may take minutes to send it. Incomplete
 * bodies share this much memory. When it is full, the connection of the oldest one is closed.
 */
const ROOM_BYTES = 256 * 1024 * 1024

export class BodyRoom {
  readonly #held = new Map<Raw, number>()
  #bytes = 0

  /** Counts at most what the route keeps in memory, which also counts for a body without a length. */
  hold(request: FastifyRequest): void {
    const { raw, headers } = request
    const most = isNodeRoute(request) ? NODE_MESSAGE_BYTES : MAX_TEXT_BYTES
    const bytes = Math.min(Number(headers['content-length'] ?? most), most)
    const release = () => this.#release(raw)
    this.#held.set(raw, bytes)
    this.#bytes += bytes
    raw.once('end', release).once('close', release)
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= ROOM_BYTES) return
      this.#release(oldest)
      abandon(oldest)
    }
  }

  #release(raw: Raw): void {
    this.#bytes -= this.#held.get(raw) ?? 0
    this.#held.delete(raw)
  }
}
