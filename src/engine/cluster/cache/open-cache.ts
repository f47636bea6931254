import type { AnswerLimits, CacheAddress } from '../../runtime/cache-address.ts'
import { stop, type Tools } from '../../runtime/tools.ts'
import type { Store } from '../../storage/store.ts'
import type { RedisCacheOptions } from './redis/redis-cache.ts'
import { askSharedStore, followOwnStore } from './store-position.ts'

export interface CacheOptions {
  /** The cache that this engine shares with others. Default: none. */
  cache?: { address: CacheAddress; answers: AnswerLimits } | null
}

interface CacheParts extends Tools {
  store: Store
  /** Whether other engines can write to the store. False for a file, which only this engine writes to. */
  isStoreShared: boolean
  credentials: RedisCacheOptions['credentials']
}

export type EngineCache = Awaited<ReturnType<typeof openCache>>

export async function openCache(
  opened: AsyncDisposableStack,
  { cache: options = null }: CacheOptions,
  { store, isStoreShared, credentials, clock, random, logger }: CacheParts
) {
  const position = isStoreShared ? askSharedStore(store) : followOwnStore(store)
  if (options === null) return { position, cache: null, sharedAnswers: null }
  const [{ openRedisCache }, { SharedAnswers }] = await Promise.all([
    import('./redis/redis-cache.ts'),
    import('./shared-answers.ts'),
    position.catchUp()
  ])
  const origin = originOf(store, () => Math.floor(random.next() * 2 ** 32))
  const cache = opened.adopt(await openRedisCache({ ...options, credentials, clock, logger, origin }), stop)
  return { position, cache, sharedAnswers: new SharedAnswers({ cache, position }) }
}

function originOf(store: Store, newIdentity: () => number): RedisCacheOptions['origin'] {
  async function renewIdentity(): Promise<string> {
    const identity = newIdentity()
    await store.putSetting('cache.identity', identity)
    return String(identity)
  }
  return {
    position: () => store.changeCursor(),
    async readIdentity() {
      const kept = await store.getSetting('cache.identity')
      return kept === null ? renewIdentity() : String(kept)
    },
    renewIdentity
  }
}
