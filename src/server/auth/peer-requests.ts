import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { PEER_HEADER } from '../../engine/runtime/peer-header.ts'

const fromPeers = new WeakMap<IncomingMessage, string>()

/**
 * Recognizes a request that another engine forwarded, before anybody reads its headers. Whoever does not know the
 * secret is a client like all others. Nobody behind this sees the secret.
 */
export function recognizePeer(request: IncomingMessage, secret: string): void {
  const header = request.headers[PEER_HEADER]
  if (header === undefined) return
  delete request.headers[PEER_HEADER]
  const [given = '', address = ''] = String(header).split(' ', 2)
  if (timingSafeEqual(hashOf(given), hashOf(secret))) fromPeers.set(request, address)
}

export const isFromPeer = (request: IncomingMessage): boolean => fromPeers.has(request)

/** null: no engine forwarded it. */
export const clientAddressOfPeer = (request: IncomingMessage): string | null => fromPeers.get(request) ?? null

/** Of one length, so that they can be compared. */
const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()
