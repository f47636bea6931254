import type { Clock } from '../../engine/runtime/clock.ts'
import { createToken, hashToken } from './secrets.ts'

const VALID_MS = 10 * 60_000
const MAX_OPEN_LINKS = 100

export interface OneTimeLinks {
  /** Creates a link and returns its token. */
  create(): string
  isOpen(token: string): boolean
  /** True once per token, within ten minutes of its creation. */
  redeem(token: string): boolean
  /** Makes all unused links invalid. */
  revokeAll(): void
}

export function createOneTimeLinks(options: { clock: Clock }): OneTimeLinks {
  const { clock } = options
  // Keyed by hash, so that lookup timing reveals nothing about other tokens.
  const expiryByHash = new Map<string, number>()
  const isValid = (hash: string) => clock.monotonicMs() < (expiryByHash.get(hash) ?? 0)
  return {
    create() {
      const oldest = expiryByHash.keys().next().value
      if (expiryByHash.size >= MAX_OPEN_LINKS && oldest !== undefined) expiryByHash.delete(oldest)
      const token = createToken()
      expiryByHash.set(hashToken(token), clock.monotonicMs() + VALID_MS)
      return token
    },
    isOpen: (token) => isValid(hashToken(token)),
    redeem(token) {
      const hash = hashToken(token)
      const wasOpen = isValid(hash)
      expiryByHash.delete(hash)
      return wasOpen
    },
    revokeAll: () => expiryByHash.clear()
  }
}
