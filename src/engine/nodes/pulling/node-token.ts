import { createHash, timingSafeEqual } from 'node:crypto'
import type { NodeId } from '../../../shared/contract/index.ts'
import type { Random } from '../../runtime/random.ts'

const TOKEN = /^sdn_(n-[0-9a-f]{12})_[0-9a-f]{64}$/

/** The token contains the node's id for a direct lookup. 256 random bits need no slow hash. */
export function createNodeToken(id: NodeId, random: Random): { token: string; hash: string } {
  const token = `sdn_${id}_${random.hex(32)}`
  return { token, hash: hashOf(token) }
}

export function nodeOfToken(token: string): NodeId | null {
  return (TOKEN.exec(token)?.[1] ?? null) as NodeId | null
}

export function isTokenOf(hash: string | null, token: string): boolean {
  if (hash === null) return false
  const [expected, given] = [Buffer.from(hash, 'hex'), Buffer.from(hashOf(token), 'hex')]
  return expected.length === given.length && timingSafeEqual(expected, given)
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')

/** Only identifies the node. Nothing can connect to this URL. */
export const addressOfPulling = (id: NodeId): string => `pull:${id}`

export const idOfPulling = (url: string): NodeId | null =>
  (/^pull:(n-[0-9a-f]{12})$/.exec(url)?.[1] ?? null) as NodeId | null
