import type { AnswersOrigin, RedisCache } from '../cache/redis/redis-cache.ts'
import type { SharedAnswers } from '../cache/shared-answers.ts'
import { askSharedStore, followOwnStore, type StorePosition } from '../cache/store-position.ts'
import type { Store } from '../store/store.ts'
import type { Base } from './base.ts'
import type { EngineOptions } from './engine-options.ts'

export interface CacheRoom {
  position: StorePosition
  /** null: this engine is alone, and what it would share is in its memory. */
  cache: RedisCache | null
  sharedAnswers: SharedAnswers | null
}

/** The cache that several engines share, if one is configured. Not waited for: nothing depends on it. */
export async function wireCache(
  options: EngineOptions,
  { store, clock, logger, random }: Base,
  credentials: { username: string; password: string }
): Promise<CacheRoom> {
  // Other engines may write to a database; to a file of this one, nobody else does.
  const position = (options.postgres ?? null) === null ? followOwnStore(store) : askSharedStore(store)
  if ((options.cache ?? null) === null) return { position, cache: null, sharedAnswers: null }
  const [{ openRedisCache }, { SharedAnswers: Answers }] = await Promise.all([
    import('../cache/redis/redis-cache.ts'),
    import('../cache/shared-answers.ts'),
    position.catchUp()
  ])
  const newIdentity = () => Math.floor(random.next() * 2 ** 32)
  const cache = await openRedisCache({
    ...options.cache!,
    credentials,
    clock,
    logger,
    origin: originOf(store, newIdentity)
  })
  return { position, cache, sharedAnswers: new Answers({ cache, position }) }
}

function originOf(store: Store, newIdentity: () => number): AnswersOrigin {
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
