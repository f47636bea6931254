import type { ProjectName } from '../../shared/contract/index.ts'

/** `own`: Scrapdeck's own keys for crawl requests and idempotent requests. */
type ChosenBy = 'client' | 'own'

/**
 * Returns the key as it is stored. Keys of different projects never collide, nor do keys from clients and our own
 * keys.
 */
export function dedupeKeyOf(project: ProjectName, chosenBy: ChosenBy, key: string): string {
  return `${JSON.stringify([project, chosenBy])}${key}`
}

/** Returns the key that the client sent. The stored keys of old jobs have no project. Pure. */
export function givenDedupeKey(project: ProjectName, stored: string | null): string | null {
  if (stored === null) return null
  const prefix = (['client', 'own'] as const)
    .map((by) => dedupeKeyOf(project, by, ''))
    .find((one) => stored.startsWith(one))
  return stored.slice(prefix?.length ?? 0)
}
