import type { Problem } from '../../shared/contract/index.ts'
import type { CacheState } from '../cache/shared-cache.ts'
import { UNRELATED } from './unrelated.ts'

/** Nothing is wrong without the shared cache, but several engines no longer act as one. Pure. */
export function cacheProblems(cache: CacheState | null): Problem[] {
  if (cache === null || cache.isUp || cache.reason === null) return []
  const effects =
    'Until it serves again, this engine counts rate limits alone, accepts the sessions that it knows, and answers without the cache'
  return [
    {
      ...UNRELATED,
      id: 'cache',
      severity: 'warning',
      title: 'The shared cache is away',
      text: `${cache.name}: ${cache.reason}. ${effects}`,
      sinceMs: cache.sinceMs,
      mend: null
    }
  ]
}
