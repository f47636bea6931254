import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { PEER_HEADER } from '../../engine/runtime/peer-header.ts'

const fromPeers = new WeakMap<IncomingMessage, { address: string; isVouchedFor: boolean }>()

/** Detects a request that another engine forwarded. Call this before reading headers, because it removes the secret. */
export function recognizePeer(request: IncomingMessage, secret: string): void {
  const header = request.headers[PEER_HEADER]
  if (header === undefined) return
  delete request.headers[PEER_HEADER]
  const [given = '', address = '', proxy] = String(header).split(' ', 3)
  if (!timingSafeEqual(hashOf(given), hashOf(secret))) return
  fromPeers.set(request, { address, isVouchedFor: proxy === FROM_PROXY })
}

/**
 * Whether another engine sent this request for itself (engine-node.ts), not for a client. Its header then has `-`
 * instead of a client's address.
 */
export const isOfPeerItself = (request: IncomingMessage): boolean => fromPeers.get(request)?.address === '-'

export const isFromPeer = (request: IncomingMessage): boolean => fromPeers.has(request)

/** Returns null if no engine forwarded the request. */
export const clientAddressOfPeer = (request: IncomingMessage): string | null => fromPeers.get(request)?.address ?? null

/** Whether the forwarding engine got the request from a proxy that may state the user. null: it was not forwarded. */
export const wasVouchedFor = (request: IncomingMessage): boolean | null => fromPeers.get(request)?.isVouchedFor ?? null

export const peerHeaderOf = (secret: string, client: { address: string; isVouchedFor: boolean }): string =>
  [secret, client.address, ...(client.isVouchedFor ? [FROM_PROXY] : [])].join(' ')

const FROM_PROXY = 'proxy'

/** All hashes have the same length, as timingSafeEqual requires. */
const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()
